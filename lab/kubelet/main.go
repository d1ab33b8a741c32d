// A kubelet that has no containers: a command runs as a process of this machine, and a forwarded port is one of loopback. What streams
// is the code of the real one. It serves on two free ports of 127.0.0.1: one for a node that leaves websockets to the API server, and
// one for a node that takes them itself (ExtendWebSocketsToKubelet). It prints both ports, and after that a line for each session and
// for the end of each command.
//
//	kubelet <certificate> <key> <authorities of clients> <folder>
//
// A command runs as the user of this program, so only clients with a certificate of these authorities are heard: the API servers. It
// runs in the folder, with an empty environment. At SIGTERM every command ends with all that it started.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/proxy"
	translator "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = time.Hour
	creation = 30 * time.Second
)

// Runs commands until it stops.
type machine struct {
	folder  string
	stop    context.Context
	running *sync.WaitGroup
}

func (m machine) ExecInContainer(
	ctx context.Context, _, _, _ string, command []string,
	in io.Reader, out, problems io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	m.running.Add(1)
	defer m.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.stop, cancel)()
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Dir, process.Env = m.folder, []string{}
	// A group of its own, so that what the command started ends with it.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	process.Cancel = end
	err := run(process, in, out, problems, end)
	fmt.Println("ended", strings.Join(command, " "))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// Waits until the command has ended and all that it wrote has been taken, however slowly. What it started must not keep its outputs open,
// and input that is still to come must not keep it waiting.
func run(process *exec.Cmd, in io.Reader, out, problems io.Writer, end func() error) error {
	var passed sync.WaitGroup
	var written []*os.File
	// An interface that holds no writer is another thing than none.
	output := func(to io.Writer) io.Writer {
		if to == nil {
			return nil
		}
		from, writing, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		written = append(written, writing)
		passed.Go(func() {
			_, _ = io.Copy(to, from)
			_ = from.Close()
		})
		return writing
	}
	process.Stdout, process.Stderr = output(out), output(problems)
	var input io.WriteCloser
	if in != nil {
		input = must(process.StdinPipe())
	}
	err := process.Start()
	for _, one := range written {
		_ = one.Close()
	}
	if err == nil {
		if in != nil {
			go func() {
				_, _ = io.Copy(input, in)
				_ = input.Close()
			}()
		}
		err = process.Wait()
		_ = end()
	}
	passed.Wait()
	return err
}

func (machine) AttachContainer(
	_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize,
) error {
	if _, err := fmt.Fprintln(out, "attached"); err != nil || in == nil {
		return err
	}
	_, err := io.Copy(out, in)
	return err
}

func (machine) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() { _, _ = io.Copy(connection, stream) }()
	_, err = io.Copy(stream, connection)
	return err
}

// Paths are /exec/<namespace>/<pod>/<container> and the like.
func (m machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	pod, container := parts[min(3, len(parts)-1)], parts[len(parts)-1]
	protocols := remotecommand.SupportedStreamingProtocols
	switch parts[1] {
	case "exec", "attach":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if parts[1] == "attach" {
			remotecommand.ServeAttach(w, r, m, pod, "", container, options, idle, creation, protocols)
		} else {
			command := r.URL.Query()["command"]
			remotecommand.ServeExec(w, r, m, pod, "", container, command, options, idle, creation, protocols)
		}
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, m, pod, "", options, idle, creation, portforward.SupportedProtocols)
	default:
		fmt.Fprintln(w, "a line of the log")
	}
}

type refused struct{}

func (refused) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// Speaks websocket to the client, and SPDY to the streams: so does a kubelet of that feature to its container runtime.
func takingWebSockets(streams *http.Transport) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := &url.URL{Scheme: "http", Host: "streams", Path: r.URL.Path, RawQuery: r.URL.RawQuery}
		upgraded := proxy.NewUpgradeAwareHandler(place, streams, false, false, refused{})
		isForPort := strings.HasPrefix(r.URL.Path, "/portForward/")
		switch {
		case isForPort && wsstream.IsWebSocketRequestWithTunnelingProtocol(r):
			translator.NewTunnelingHandler(upgraded).ServeHTTP(w, r)
		case !isForPort && wsstream.IsWebSocketRequestWithStreamCloseProtocol(r):
			asked, err := remotecommand.NewOptions(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			options := translator.Options{Stdin: asked.Stdin, Stdout: asked.Stdout, Stderr: asked.Stderr, Tty: asked.TTY}
			translator.NewStreamTranslatorHandler(place, streams, 0, options).ServeHTTP(w, r)
		default:
			upgraded.ServeHTTP(w, r)
		}
	})
}

// Says of each session which pod it is for, what it is, and over which protocol it came.
func reported(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protocol := r.Header.Get("Upgrade"); protocol != "" {
			parts := strings.Split(r.URL.Path, "/")
			fmt.Println("session", parts[min(3, len(parts)-1)], parts[1], protocol)
		}
		next.ServeHTTP(w, r)
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Serves on a free port to those who prove one of the authorities. Returns the port.
func serve(handler http.Handler, certificate, key string, authorities *x509.CertPool) int {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	server := http.Server{
		Handler:   reported(handler),
		TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities},
	}
	go func() { panic(server.ServeTLS(listener, certificate, key)) }()
	return listener.Addr().(*net.TCPAddr).Port
}

func main() {
	certificate, key, folder := os.Args[1], os.Args[2], os.Args[4]
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(must(os.ReadFile(os.Args[3]))) {
		panic("no authority of clients")
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	commands := machine{folder: folder, stop: stop, running: &sync.WaitGroup{}}
	// A port of loopback would be open to everyone on the machine. The folder of the socket is private.
	streams := must(net.Listen("unix", "streams"))
	go func() { panic(http.Serve(streams, commands)) }()
	dialer := net.Dialer{}
	toStreams := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", "streams")
	}}
	plain := serve(commands, certificate, key, authorities)
	webSockets := serve(takingWebSockets(toStreams), certificate, key, authorities)
	fmt.Println("ports", plain, webSockets)
	<-stop.Done()
	commands.running.Wait()
}
