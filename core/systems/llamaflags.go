package systems

import "strings"

// llamaSwitches are flags of llama.cpp's programs that take no value, or may take
// one, and that do not concern sampling.
func llamaSwitches() []string {
	return strings.Fields(`h help usage version cl cache_list completion_bash list_devices offline check_tensors metrics props reuse_port
		cnv conversation no_cnv no_conversation i interactive if interactive_first ins instruct st single_turn mli multiline_input in_prefix_bos
		co color e escape no_escape sp special no_display_prompt display_prompt show_timings no_show_timings simple_io verbose_prompt
		warmup no_warmup perf no_perf v verbose log_verbose log_disable log_colors log_jsonl no_log_jsonl
		log_prefix no_log_prefix log_timestamps no_log_timestamps
		fa flash_attn mmap no_mmap mlock dio direct_io ndio no_direct_io kvo kv_offload nkvo no_kv_offload kvu kv_unified no_kvu no_kv_unified
		swa_full repack nr no_repack no_host op_offload no_op_offload cmoe cpu_moe bs backend_sampling context_shift no_context_shift
		jinja no_jinja skip_chat_parsing no_skip_chat_parsing prefill_assistant no_prefill_assistant reasoning_preserve no_reasoning_preserve
		cb cont_batching nocb no_cont_batching cache_prompt no_cache_prompt cache_idle_slots no_cache_idle_slots prompt_cache_all prompt_cache_ro
		slots no_slots ui no_ui webui no_webui ui_mcp_proxy no_ui_mcp_proxy webui_mcp_proxy no_webui_mcp_proxy ag agent no_ag no_agent
		cors_credentials no_cors_credentials models_autoload no_models_autoload lora_init_without_apply
		embedding embeddings rerank reranking mmproj_auto no_mmproj no_mmproj_auto mmproj_offload no_mmproj_offload spm_infill stream
		cmoed cpu_moe_draft spec_draft_cpu_moe spec_draft_backend_sampling no_spec_draft_backend_sampling spec_default
		embd_gemma_default fim_qwen_1.5b_default fim_qwen_3b_default fim_qwen_7b_default fim_qwen_7b_spec fim_qwen_14b_spec fim_qwen_30b_default
		gpt_oss_20b_default gpt_oss_120b_default vision_gemma_4b_default vision_gemma_12b_default`)
}

// llamaUnrelated are flags with a value and fields of requests that do not
// concern sampling.
func llamaUnrelated() []string {
	return strings.Fields(`m model mu model_url hf hfr hf_repo hff hf_file hft hf_token dr docker_repo a alias tags c ctx_size n_ctx ngl gpu_layers n_gpu_layers
		t threads tb threads_batch cpu_mask cr cpu_range crb cpu_range_batch cpu_mask_batch cpu_strict cpu_strict_batch prio prio_batch poll poll_batch numa
		p prompt sys system_prompt f file sysf system_prompt_file bf binary_file gan grp_attn_n gaw grp_attn_w
		b batch_size ub ubatch_size keep n_keep n_discard prompt_cache np parallel ns sequences ctk cache_type_k ctv cache_type_v dt defrag_thold
		rope_scaling rope_scale rope_freq_base rope_freq_scale yarn_orig_ctx yarn_ext_factor yarn_attn_factor yarn_beta_slow yarn_beta_fast
		dev device sm split_mode ts tensor_split mg main_gpu ot override_tensor override_kv ncmoe n_cpu_moe ncffn n_cpu_ffn moe_cache_mib rpc
		lm load_mode lzm lazy_mode fit fitt fit_target fitc fit_ctx cram cache_ram cache_reuse n_cache_reuse kv_unified_per_slot
		ctxcp ctx_checkpoints swa_checkpoints cms checkpoint_min_step sps slot_prompt_similarity slot_save_path sleep_idle_seconds sse_ping_interval
		chat_template chat_template_file chat_template_kwargs chat_format reasoning_format reasoning_in_content thinking_forced_open generation_prompt
		rea reasoning reasoning_effort reasoning_budget reasoning_budget_message in_prefix in_suffix pooling embd_normalize
		host port path api_prefix api_key api_key_file ssl_key_file ssl_cert_file to timeout cors_origins cors_methods cors_headers
		ui_config webui_config ui_config_file webui_config_file tools_runtime mcp_servers_config mcp_servers_json media_path models_dir models_preset models_max
		threads_http mm mmproj mmu mmproj_url mmdev mmproj_device image audio video image_min_tokens image_max_tokens mtmd_batch_max_tokens
		video_fps video_timestamp_interval video_ffmpeg_dir log_file log_prompts_dir lv verbosity log_verbosity id_slot slot_id messages user
		logprobs top_logprobs return_tokens return_progress timings_per_token post_sampling_probs response_fields stream_options n_indent t_max_prompt_ms
		parse_tool_calls parallel_tool_calls preserved_tokens add_generation_prompt continue_final_message input_prefix input_suffix input_extra sampling_threads
		lcs lookup_cache_static lcd lookup_cache_dynamic cd ctx_size_draft hfd hfrd hf_repo_draft td threads_draft tbd threads_batch_draft
		cpu_mask_draft crd cpu_range_draft cpu_strict_draft prio_draft poll_draft cbd cpu_mask_batch_draft cpu_strict_batch_draft prio_batch_draft poll_batch_draft
		otd override_tensor_draft ncmoed n_cpu_moe_draft ngld gpu_layers_draft n_gpu_layers_draft devd device_draft ctkd cache_type_k_draft ctvd cache_type_v_draft
		draft_min draft_n_min draft_p_min draft_p_split spec_type spec_draft_hf spec_draft_threads spec_draft_threads_batch spec_draft_cpu_mask spec_draft_cpu_range
		spec_draft_cpu_strict spec_draft_prio spec_draft_poll spec_draft_cpu_mask_batch spec_draft_cpu_strict_batch spec_draft_prio_batch spec_draft_poll_batch
		spec_draft_override_tensor spec_draft_n_cpu_moe spec_draft_ncmoe spec_draft_n_min spec_draft_p_split spec_draft_p_min spec_draft_sampling
		spec_draft_device spec_draft_ngl spec_draft_type_k spec_draft_type_v spec_synth_len spec_synth_rates
		spec_ngram_size_n spec_ngram_size_m spec_ngram_min_hits spec_ngram_mod_n_min spec_ngram_mod_n_max spec_ngram_mod_n_match
		spec_ngram_simple_size_n spec_ngram_simple_size_m spec_ngram_simple_min_hits spec_ngram_map_k_size_n spec_ngram_map_k_size_m spec_ngram_map_k_min_hits
		spec_ngram_map_k4v_size_n spec_ngram_map_k4v_size_m spec_ngram_map_k4v_min_hits
		speculative.n_max speculative.n_min speculative.p_min speculative.type speculative.ngram_size_n speculative.ngram_size_m speculative.ngram_m_hits`)
}
