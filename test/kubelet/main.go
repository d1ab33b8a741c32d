// A kubelet that has no containers: a command runs as a process of this machine, and a forwarded port is one of loopback. What streams
// is the code of the real one. It serves on a free port of 127.0.0.1 with the certificate and key of its arguments, prints the port,
// and after that a line for the end of each command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
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

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	panic(http.ServeTLS(listener, http.HandlerFunc(serve), os.Args[1], os.Args[2]))
}
