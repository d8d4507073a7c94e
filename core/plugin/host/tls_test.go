//go:build unix

package host_test

import (
	"context"
	"crypto/tls"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/internal/wire"
)

// With TLS the plugin answers nobody but its host: neither one that speaks plainly
// nor one without the host's certificate. Without it, whoever reaches the socket
// is answered, which shows that the test asks at the right door.
func TestTLSShutsOthersOut(t *testing.T) {
	ctx := context.Background()
	for _, encrypted := range []bool{false, true} {
		dir := shortDir(t)
		f := newHost(t, func(o *host.Options) { o.SocketDir, o.TLS = dir, encrypted }, "good")
		if err := use(f, "good"); err != nil {
			t.Fatal(err)
		}
		for name, as := range map[string]credentials.TransportCredentials{
			"plainly":               insecure.NewCredentials(),
			"without a certificate": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		} {
			conn, err := grpc.NewClient("unix:"+socketIn(t, dir), grpc.WithTransportCredentials(as))
			if err != nil {
				t.Fatal(err)
			}
			_, err = wire.NewPluginClient(conn).Describe(ctx, &wire.DescribeRequest{Protocol: wire.Protocol})
			if answered := err == nil; answered != (!encrypted && name == "plainly") {
				t.Errorf("encrypted %t: asked %s, it answers: %t (%v)", encrypted, name, answered, err)
			}
			_ = conn.Close()
		}
		if err := use(f, "good"); err != nil {
			t.Error(err)
		}
	}
}

// socketIn returns the one socket below a folder.
func socketIn(t *testing.T, dir string) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSocket != 0 {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) != 1 {
		t.Fatalf("sockets: %v, %v", found, err)
	}
	return found[0]
}

// A plugin that cannot speak TLS is not spoken to without, and the user is told
// why.
func TestPluginWithoutTLSIsRefusedWhereItIsAskedFor(t *testing.T) {
	role := "fossil-" + firstForm
	f := newHost(t, func(o *host.Options) { o.TLS = true }, role)
	_, err := f.Plugin(context.Background(), role)
	if err == nil || fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), "does not look like a TLS handshake") {
		t.Errorf("error: %v", err)
	}
}
