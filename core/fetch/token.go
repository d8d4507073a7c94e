package fetch

import (
	"net/http"
	"net/url"
	"strings"

	"lab/core/fault"
)

const tokenHeader, tokenScheme = "Authorization", "Bearer "

// checkToken refuses a token that is not to be sent, or cannot be.
func checkToken(to *url.URL, token string) error {
	if token == "" {
		return nil
	}
	subject := fault.Quote(Redact(to.String()), 200)
	if to.Scheme != "https" {
		return fault.New(fault.Usage, "fetch", subject, "an access token is sent by https only, not by %s", to.Scheme).Fix("use https, or give no token")
	}
	if to.User != nil {
		return fault.New(fault.Usage, "fetch", subject, "the address has a user, and an access token is given, too").Fix("use one of them")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fault.New(fault.Usage, "fetch", subject, "the access token has a blank or a character that none has").
			Fix("copy it again, without what is around it")
	}
	return nil
}

// tokenOf returns what a request shows of a token, empty for nothing.
func tokenOf(req *http.Request) string { return req.Header.Get(tokenHeader) }

// origin names a server: scheme, machine and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// gated is the error of a server that wants to know who asks (401), or lets this one
// not have the file (403).
func (t *transfer) gated(resp *http.Response, what string) error {
	asked := resp.Request
	failed := func(more string) *fault.Error { return fault.New(fault.Usage, "fetch", t.name, "%s%s", what, more) }
	switch {
	case t.opt.Token == "":
		return failed("").Fix("where the site gives access tokens, put one into an environment variable and name that with --token-env; " +
			"or fetch the file with the site's own program, and add it by its path")
	case tokenOf(asked) == "":
		return failed(", at " + fault.Quote(asked.URL.Host, 100) + ", to which it is redirected and which is not shown the access token").
			Fix("give the address there if you trust it with the token")
	case resp.StatusCode == http.StatusUnauthorized:
		return failed(" to the access token").Fix("check that the token is whole, of this site, and has not expired")
	}
	return failed(" to the access token").
		Fix("the account of the token has no access to this file: accept the terms on the model's page, or let the token read such files")
}
