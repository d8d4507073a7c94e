package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
)

// chainFlags say which chain a command uses and whose rules it follows.
type chainFlags struct{ text, compat string }

func (c *chainFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.text, "chain", "c", "", "chain of stages, for instance \"temperature:0.8 | top_p:0.95\" (see lab help chains)")
	f.StringVar(&c.compat, "compat", "", "follow another system's rules: llama.cpp, transformers, vllm, koboldcpp, webui, exllamav2 or aphrodite")
}

func (c *chainFlags) build(ctx context.Context, session *experiment.Session) (*chain.Chain, error) {
	requests, err := chain.Parse(c.text, "flag --chain")
	if err != nil {
		return nil, err
	}
	if requests, err = chain.ReadFiles(requests, readValue); err != nil {
		return nil, err
	}
	if c.compat == "" {
		return session.Build(ctx, requests)
	}
	built, err := session.Build(ctx, chain.Compat(requests, c.compat, "flag --compat"))
	if err != nil || built.Stages[len(built.Stages)-1].Origin != chain.DefaultOrigin {
		return built, err
	}
	// The draw that nobody wrote follows the system too.
	requests = append(requests, chain.Request{Name: chain.DefaultSelector, Origin: chain.DefaultOrigin})
	return session.Build(ctx, chain.Compat(requests, c.compat, "flag --compat"))
}

// readValue returns the text of a file that a chain names with @, without the
// line end that editors put last.
func readValue(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readText(f, path)
	text = strings.TrimSuffix(text, "\n")
	return strings.TrimSuffix(text, "\r"), err
}

// readText reads a text of at most 1 MiB; name is what errors call it.
func readText(r io.Reader, name string) (string, error) {
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return "", fault.Wrap(err, fault.Data, "read", name)
	}
	if len(data) > most {
		return "", fault.New(fault.Limit, "read", fault.Quote(name, 80), "it has more than %d bytes", most)
	}
	return string(data), nil
}
