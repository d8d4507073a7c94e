package fetch

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"lab/core/fault"
)

// Check refuses an address that [File] would refuse without asking a server.
func Check(address string, plain bool) error {
	_, err := parse(address, plain)
	return err
}

// parse checks an address.
func parse(address string, plain bool) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || strings.Trim(u.Path, "/") == "" {
		return nil, fault.New(fault.Usage, "fetch", fault.Quote(Redact(address), 200), "it is no address of a file on a server").
			Fix("give one like https://HOST/PATH/FILE.gguf")
	}
	if err := allowed(u, plain); err != nil {
		return nil, err
	}
	u.Fragment = ""
	return u, nil
}

// allowed refuses an address that is not encrypted, except on this machine.
func allowed(u *url.URL, plain bool) error {
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fault.New(fault.Usage, "fetch", fault.Quote(Redact(u.String()), 200), "files are fetched by https, not by %s", fault.Quote(u.Scheme, 20))
	case plain || loopback(u.Hostname()):
		return nil
	}
	return fault.New(fault.Usage, "fetch", fault.Quote(Redact(u.String()), 200), "http can be read and changed on its way").
		Fix("use https, or --insecure-http when the network is yours")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// hop decides on a redirection. What the address of the page was is not told to
// the next server: it may hold a secret.
func (t *transfer) hop(req *http.Request, via []*http.Request) error {
	if len(via) > mostHops {
		return fault.New(fault.Model, "fetch", t.name, "more than %d redirections", mostHops)
	}
	if before := via[len(via)-1].URL; before.Scheme == "https" && req.URL.Scheme != "https" {
		return fault.New(fault.Data, "fetch", t.name, "%s redirects from https to %s, which is refused", before.Host, fault.Quote(req.URL.Scheme, 20))
	}
	req.Header.Del("Referer")
	// The client's own rule would show the token to machines within the first one's
	// domain as well, and to other ports.
	if before := via[len(via)-1]; t.opt.Token != "" {
		req.Header.Del(tokenHeader)
		if tokenOf(before) != "" && origin(before.URL) == origin(req.URL) {
			req.Header.Set(tokenHeader, tokenOf(before))
		}
	}
	return allowed(req.URL, t.opt.Plain)
}
