// Runs a command in a pod as programs do that stand on client-go: over a websocket, over SPDY, and with the executor that tries the one
// and then the other. What comes on standard input goes to the command. Prints a line for each way: its name, the output of the command,
// its exit code, and the error.
//
//	sessions <kubeconfig> <namespace> <pod> <command> [arguments]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

const timeout = 60 * time.Second

type outcome struct {
	Way      string `json:"way"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exitCode"`
	Error    string `json:"error"`
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: sessions <kubeconfig> <namespace> <pod> <command> [arguments]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, namespace, pod string, command []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	place, err := execURL(config, namespace, pod, command)
	if err != nil {
		return err
	}
	webSocket, err := remotecommand.NewWebSocketExecutor(config, "GET", place.String())
	if err != nil {
		return err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", place)
	if err != nil {
		return err
	}
	// As kubectl has it. The function of the same name in apimachinery does not know the error of this client-go, and so never falls back.
	either, err := remotecommand.NewFallbackExecutor(webSocket, spdy, httpstream.IsUpgradeFailure)
	if err != nil {
		return err
	}
	ways := []struct {
		name     string
		executor remotecommand.Executor
	}{{"websocket", webSocket}, {"SPDY", spdy}, {"either", either}}
	for _, way := range ways {
		line, err := json.Marshal(stream(way.name, way.executor, input))
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return nil
}

func execURL(config *rest.Config, namespace, pod string, command []string) (*url.URL, error) {
	place, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	query := url.Values{"stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}, "command": command}
	place = place.JoinPath("api/v1/namespaces", namespace, "pods", pod, "exec")
	place.RawQuery = query.Encode()
	return place, nil
}

func stream(way string, executor remotecommand.Executor, input []byte) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	options := remotecommand.StreamOptions{Stdin: bytes.NewReader(input), Stdout: &stdout, Stderr: &stderr}
	err := executor.StreamWithContext(ctx, options)
	result := outcome{Way: way, Stdout: stdout.String(), Stderr: stderr.String()}
	var exit exec.CodeExitError
	if errors.As(err, &exit) {
		result.ExitCode = exit.Code
	} else if err != nil {
		result.Error = err.Error()
	}
	return result
}
