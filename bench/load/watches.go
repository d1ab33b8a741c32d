package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// watchOrder: the same object is changed again and again, and every watch must see each change. A change writes its number into
// data.tick of a ConfigMap.
type watchOrder struct {
	Changes    int         `json:"changes"`
	IntervalMs int         `json:"intervalMs"`
	Address    string      `json:"address"`
	Change     requestHead `json:"change"`
}

// watchFindings: from the start of a change until a watch brought it, milliseconds.
type watchFindings struct {
	Events int     `json:"events"`
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

const (
	// Handshakes at once.
	opening = 32
	// For the last change to arrive.
	arrival = 20 * time.Second
)

type watches struct {
	connections []*connection
	// When each change began.
	began     []atomic.Int64
	mutex     sync.Mutex
	latencies []time.Duration
	arrived   chan struct{}
}

// watchAll opens the watches and says so, waits for a line on standard input, makes the changes and says when they arrived.
func watchAll(work order, input *bufio.Reader, output *json.Encoder) error {
	all := &watches{
		connections: make([]*connection, work.Connections),
		began:       make([]atomic.Int64, work.Watch.Changes),
		arrived:     make(chan struct{}, work.Connections*work.Watch.Changes),
	}
	if err := all.open(work); err != nil {
		return err
	}
	if err := output.Encode(map[string]int{"open": len(all.connections)}); err != nil {
		return err
	}
	if _, err := input.ReadString('\n'); err != nil {
		return fmt.Errorf("no one waits any more: %w", err)
	}
	if err := all.change(work.Watch); err != nil {
		return err
	}
	found, err := all.await(len(all.connections) * work.Watch.Changes)
	if err != nil {
		return err
	}
	return output.Encode(found)
}

func (w *watches) open(work order) error {
	places := make(chan struct{}, opening)
	failures := make(chan error, len(w.connections))
	for index := range w.connections {
		one := &connection{address: work.Address, deadline: time.Now().Add(time.Hour)}
		w.connections[index] = one
		go func() {
			places <- struct{}{}
			found, err := one.begin(work.rendered(index))
			<-places
			if err == nil && found.status != 200 {
				err = fmt.Errorf("a watch was answered with %d", found.status)
			}
			failures <- err
			if err == nil {
				w.follow(one)
			}
		}()
	}
	for range w.connections {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

// follow notes every change until the connection ends.
func (w *watches) follow(one *connection) {
	lines := bufio.NewReader(httputil.NewChunkedReader(one.reader))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		tick, ok := tickOf(line)
		if !ok || tick >= len(w.began) {
			continue
		}
		w.mutex.Lock()
		w.latencies = append(w.latencies, time.Duration(now-w.began[tick].Load()))
		w.mutex.Unlock()
		w.arrived <- struct{}{}
	}
}

var tickField = []byte(`"tick":"`)

func tickOf(line []byte) (int, bool) {
	_, rest, found := bytes.Cut(line, tickField)
	number, _, ends := bytes.Cut(rest, []byte(`"`))
	if !found || !ends {
		return 0, false
	}
	tick, err := strconv.Atoi(string(number))
	return tick, err == nil
}

func (w *watches) change(what *watchOrder) error {
	writer := connection{address: what.Address, deadline: time.Now().Add(time.Hour)}
	defer writer.close()
	if err := writer.open(); err != nil {
		return err
	}
	run := time.Now().UnixNano()
	for tick := range what.Changes {
		// A number that was there already would be no change.
		body := fmt.Sprintf(`{"data":{"run":"%d","tick":"%d"}}`, run, tick)
		request := render("PATCH", what.Address, what.Change, body)
		w.began[tick].Store(time.Now().UnixNano())
		found, err := writer.send(request)
		if err != nil {
			return err
		}
		if found.status != 200 {
			return fmt.Errorf("a change was answered with %d", found.status)
		}
		time.Sleep(time.Duration(what.IntervalMs) * time.Millisecond)
	}
	return nil
}

func (w *watches) await(events int) (watchFindings, error) {
	late := time.After(arrival)
	for range events {
		select {
		case <-w.arrived:
		case <-late:
			return watchFindings{}, errors.New("some watches did not see all changes")
		}
	}
	p50, p99, longest := percentiles(w.latencies)
	return watchFindings{Events: events, P50: p50, P99: p99, Max: longest}, nil
}
