package shelf

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"lab/core/fault"
)

// fileName returns the file of part i of n of a model, as llama.cpp names the
// parts of a split one.
func fileName(name string, i, n int) string {
	if n == 1 {
		return name + weightSuffix
	}
	return fmt.Sprintf("%s-%05d-of-%05d%s", name, i+1, n, weightSuffix)
}

// partsOf returns the paths or addresses of all parts of the model of which
// source is one. A file whose name is no part's is alone.
func partsOf(source string) ([]string, error) {
	head, base, tail := "", source, ""
	if IsAddress(source) {
		u, err := url.Parse(source)
		if err != nil {
			return []string{source}, nil // it is refused when it is fetched
		}
		path := u.EscapedPath()
		at := strings.Index(source, path)
		if path == "" || at < 0 {
			return []string{source}, nil
		}
		head, base, tail = source[:at], path, source[at+len(path):]
	}
	cut := strings.LastIndexAny(base, `/\`) + 1
	head, base = head+base[:cut], base[cut:]
	stem := trimSuffixFold(base, weightSuffix)
	suffix := base[len(stem):]
	m := partForm.FindStringSubmatch(stem)
	if m == nil || suffix == "" {
		return []string{source}, nil
	}
	i, _ := strconv.Atoi(m[2])
	n, _ := strconv.Atoi(m[3])
	if n < 1 || n > mostParts || i < 1 || i > n {
		return nil, fault.New(fault.Usage, "model", fault.Quote(base, 120), "part %d of %d cannot be; parts count from 1, up to %d", i, n, mostParts)
	}
	parts := make([]string, n)
	for k := range parts {
		parts[k] = fmt.Sprintf("%s%s-%05d-of-%05d%s%s", head, m[1], k+1, n, suffix, tail)
	}
	return parts, nil
}

// IsAddress reports whether a source is an address of the network and no path.
func IsAddress(source string) bool {
	scheme, _, ok := strings.Cut(source, "://")
	if !ok || scheme == "" {
		return false
	}
	for _, c := range scheme {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}
