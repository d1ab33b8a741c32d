// A kubelet that has no containers: a command runs as a process of this machine, and a forwarded port is one of loopback. What streams
// is the code of the real one. It serves on two free ports of 127.0.0.1 with the certificate and key of its arguments: one for a node
// that leaves websockets to the API server, and one for a node that takes them itself (ExtendWebSocketsToKubelet). It prints both ports,
// and after that a line for each session and for the end of each command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
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

type machine struct{}

func (machine) ExecInContainer(
	ctx context.Context, _, _, _ string, command []string,
	in io.Reader, out, problems io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Stdin, process.WaitDelay = in, time.Second
	// An interface that holds no writer is another thing than none.
	if out != nil {
		process.Stdout = out
	}
	if problems != nil {
		process.Stderr = problems
	}
	err := process.Run()
	fmt.Println("ended", strings.Join(command, " "))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
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
func serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	pod, container := parts[min(3, len(parts)-1)], parts[len(parts)-1]
	protocols := remotecommand.SupportedStreamingProtocols
	switch parts[1] {
	case "exec", "attach":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if parts[1] == "attach" {
			remotecommand.ServeAttach(w, r, machine{}, pod, "", container, options, idle, creation, protocols)
		} else {
			command := r.URL.Query()["command"]
			remotecommand.ServeExec(w, r, machine{}, pod, "", container, command, options, idle, creation, protocols)
		}
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, machine{}, pod, "", options, idle, creation, portforward.SupportedProtocols)
	default:
		fmt.Fprintln(w, "a line of the log")
	}
}

type refused struct{}

func (refused) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// Speaks websocket to the client, and SPDY to the streams: so does a kubelet of that feature to its container runtime.
func takingWebSockets(streams net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := &url.URL{Scheme: "http", Host: streams.String(), Path: r.URL.Path, RawQuery: r.URL.RawQuery}
		upgraded := proxy.NewUpgradeAwareHandler(place, nil, false, false, refused{})
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
			translator.NewStreamTranslatorHandler(place, nil, 0, options).ServeHTTP(w, r)
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

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return listener
}

func main() {
	streams, plain, webSockets := listen(), listen(), listen()
	go func() { panic(http.Serve(streams, http.HandlerFunc(serve))) }()
	for listener, handler := range map[net.Listener]http.Handler{
		plain:      http.HandlerFunc(serve),
		webSockets: takingWebSockets(streams.Addr()),
	} {
		go func() { panic(http.ServeTLS(listener, reported(handler), os.Args[1], os.Args[2])) }()
	}
	fmt.Println("ports", plain.Addr().(*net.TCPAddr).Port, webSockets.Addr().(*net.TCPAddr).Port)
	select {}
}
