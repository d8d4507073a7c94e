package wire

import (
	"strings"
	"testing"

	"lab/core/fault"
)

func TestEnvironmentNames(t *testing.T) {
	many := make([]string, mostEnv+1)
	for i := range many {
		many[i] = "A" + strings.Repeat("B", i)
	}
	for _, tt := range []struct {
		name  string
		names []string
		says  string
	}{
		{"none", nil, ""},
		{"usual ones", []string{"MY_API_KEY", "_x9", "HTTPS_PROXY"}, ""},
		{"as long as may be", []string{strings.Repeat("A", longestEnv)}, ""},
		{"empty", []string{""}, "no name of a variable"},
		{"a digit first", []string{"9A"}, "no name of a variable"},
		{"an equals sign", []string{"A=B"}, "no name of a variable"},
		{"not ASCII", []string{"SCHLÜSSEL"}, "no name of a variable"},
		{"too long", []string{strings.Repeat("A", longestEnv+1)}, "no name of a variable"},
		{"twice", []string{"A", "B", "A"}, "declared twice"},
		{"too many", many, "more than 64"},
		{"the cookie", []string{CookieEnv}, "belongs to the handshake"},
		{"the lifeline", []string{"LAB_PLUGIN_LIFELINE"}, "belongs to the handshake"},
		{"the socket folder", []string{SocketDirEnv}, "belongs to the handshake"},
	} {
		err := CheckEnvironment(tt.names)
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || fault.KindOf(err) != fault.Plugin):
			t.Errorf("%s: error is %v, want a plugin error that says %q", tt.name, err, tt.says)
		}
	}
}
