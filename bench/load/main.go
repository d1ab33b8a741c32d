// Command load sends requests over TLS connections that it keeps open, and says how long the answers took. Its order comes as one
// line of JSON on standard input; what it found goes as JSON lines to standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// order says what to do. Requests are sent in turn.
type order struct {
	// Host and port.
	Address     string        `json:"address"`
	Requests    []requestHead `json:"requests"`
	Connections int           `json:"connections"`
	Seconds     float64       `json:"seconds"`
	// Requests a second, over all connections; 0: each connection sends as soon as it has its answer.
	Rate float64 `json:"rate"`
	// Present: every connection is one watch.
	Watch *watchOrder `json:"watch"`
}

type requestHead struct {
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
}

func main() {
	input := bufio.NewReader(os.Stdin)
	if err := run(input, json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(input *bufio.Reader, output *json.Encoder) error {
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no order: %w", err)
	}
	var work order
	if err := json.Unmarshal(line, &work); err != nil {
		return fmt.Errorf("the order cannot be read: %w", err)
	}
	if work.Watch != nil {
		return watchAll(work, input, output)
	}
	found, err := sendAll(work)
	if err != nil {
		return err
	}
	return output.Encode(found)
}

func (o order) rendered(index int) []byte {
	request := o.Requests[index%len(o.Requests)]
	return render("GET", o.Address, request, "")
}

func render(method, address string, request requestHead, body string) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, request.Path, address)
	for name, value := range request.Headers {
		fmt.Fprintf(&text, "%s: %s\r\n", name, value)
	}
	if body != "" {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", len(body))
	}
	text.WriteString("\r\n")
	text.WriteString(body)
	return []byte(text.String())
}

func seconds(number float64) time.Duration {
	return time.Duration(number * float64(time.Second))
}
