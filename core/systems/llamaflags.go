package systems

import "strings"

// llamaSwitches are flags of llama.cpp's programs that take no value, or may take
// one, and that do not concern sampling.
func llamaSwitches() []string {
	return strings.Fields(`cnv conversation no_cnv no_conversation i interactive if interactive_first ins instruct st single_turn mli multiline_input
		co color e escape no_escape sp special no_display_prompt display_prompt no_warmup warmup verbose_prompt v verbose log_verbose log_disable
		log_colors log_prefix log_timestamps simple_io no_perf perf fa flash_attn no_mmap mmap mlock no_kv_offload nkvo kv_offload kvo swa_full
		no_context_shift context_shift jinja no_jinja cb cont_batching nocb no_cont_batching metrics slots no_slots props no_webui webui embedding embeddings
		reranking check_tensors repack no_repack no_host offline cpu_moe dio direct_io kvu kv_unified no_kv_unified bs backend_sampling
		no_prefill_assistant prefill_assistant version h help stream cache_prompt no_cache_prompt prompt_cache_all prompt_cache_ro spm_infill`)
}

// llamaUnrelated are flags with a value and fields of requests that do not
// concern sampling.
func llamaUnrelated() []string {
	return strings.Fields(`m model mu model_url hf hfr hf_repo hff hf_file hft hf_token dr docker_repo a alias c ctx_size n_ctx ngl gpu_layers n_gpu_layers
		t threads tb threads_batch cpu_mask cpu_range prio poll numa p prompt sys system_prompt f file sysf system_prompt_file bf binary_file
		b batch_size ub ubatch_size keep n_keep prompt_cache np parallel ctk cache_type_k ctv cache_type_v dt defrag_thold
		rope_scaling rope_scale rope_freq_base rope_freq_scale yarn_orig_ctx yarn_ext_factor yarn_attn_factor yarn_beta_slow yarn_beta_fast
		dev device sm split_mode ts tensor_split mg main_gpu ot override_tensor override_kv ncmoe n_cpu_moe cram cache_ram cache_reuse slot_save_path
		chat_template chat_template_file chat_template_kwargs reasoning_format reasoning_budget in_prefix in_suffix host port path api_key api_key_file to timeout
		threads_http mm mmproj mmproj_url image audio log_file id_slot slot_id messages user logprobs top_logprobs return_tokens return_progress
		timings_per_token post_sampling_probs response_fields stream_options n_indent parse_tool_calls parallel_tool_calls add_generation_prompt
		input_prefix input_suffix input_extra sampling_threads`)
}
