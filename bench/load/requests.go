package main

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// After the end of the order, so that the last answers still arrive.
const grace = 30 * time.Second

// findings of an order, over all connections. Milliseconds, but for Seconds.
type findings struct {
	Requests int            `json:"requests"`
	Seconds  float64        `json:"seconds"`
	Bytes    int64          `json:"bytes"`
	Statuses map[string]int `json:"statuses"`
	// Requests without an answer, and what the last one failed with.
	Errors    int     `json:"errors"`
	LastError string  `json:"lastError,omitempty"`
	Opened    int     `json:"opened"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
}

type worker struct {
	connection connection
	requests   [][]byte
	// Between two of its requests; 0: none.
	interval  time.Duration
	next      time.Time
	end       time.Time
	latencies []time.Duration
	statuses  map[int]int
	bytes     int64
	errors    int
	lastError error
}

// sendAll sends requests until the time is over. All connections are open before it begins.
func sendAll(work order) (findings, error) {
	workers := make([]*worker, work.Connections)
	limit := time.Now().Add(seconds(work.Seconds) + 2*grace)
	for index := range workers {
		workers[index] = newWorker(work, index, limit)
		if err := workers[index].connection.open(); err != nil {
			return findings{}, err
		}
	}
	start := time.Now()
	var group sync.WaitGroup
	for index, one := range workers {
		one.next = start.Add(one.interval * time.Duration(index) / time.Duration(len(workers)))
		one.end = start.Add(seconds(work.Seconds))
		group.Go(one.run)
	}
	group.Wait()
	return summarise(workers, time.Since(start)), nil
}

func newWorker(work order, index int, limit time.Time) *worker {
	one := &worker{
		connection: connection{address: work.Address, deadline: limit},
		statuses:   map[int]int{},
	}
	if work.Rate > 0 {
		one.interval = seconds(float64(work.Connections) / work.Rate)
	}
	// Each connection has its own share of the requests; with fewer requests than connections they share them.
	for request := index % len(work.Requests); request < len(work.Requests); request += work.Connections {
		one.requests = append(one.requests, work.rendered(request))
	}
	return one
}

func (w *worker) run() {
	defer w.connection.close()
	for turn := 0; ; turn++ {
		if w.interval > 0 {
			time.Sleep(time.Until(w.next))
		}
		began := time.Now()
		if !began.Before(w.end) {
			return
		}
		found, err := w.connection.send(w.requests[turn%len(w.requests)])
		answered := time.Now()
		if err != nil {
			w.errors++
			w.lastError = err
		} else {
			w.latencies = append(w.latencies, answered.Sub(began))
			w.statuses[found.status]++
			w.bytes += found.bytes
		}
		// What is late is not caught up with: the server would be measured by how it clears a queue of our own.
		w.next = later(w.next.Add(w.interval), answered)
	}
}

func later(one, other time.Time) time.Time {
	if one.Before(other) {
		return other
	}
	return one
}

func summarise(workers []*worker, elapsed time.Duration) findings {
	found := findings{Seconds: elapsed.Seconds(), Statuses: map[string]int{}}
	var latencies []time.Duration
	for _, one := range workers {
		latencies = append(latencies, one.latencies...)
		found.Bytes += one.bytes
		found.Errors += one.errors
		found.Opened += one.connection.opened
		for status, count := range one.statuses {
			found.Statuses[strconv.Itoa(status)] += count
		}
		if one.lastError != nil {
			found.LastError = one.lastError.Error()
		}
	}
	found.Requests = len(latencies)
	found.P50, found.P99, found.Max = percentiles(latencies)
	return found
}

// percentiles of the nearest rank, in milliseconds: 50, 99 and 100.
func percentiles(latencies []time.Duration) (p50, p99, longest float64) {
	if len(latencies) == 0 {
		return 0, 0, 0
	}
	slices.Sort(latencies)
	at := func(percent int) float64 {
		rank := max((len(latencies)*percent+99)/100, 1)
		return float64(latencies[rank-1]) / float64(time.Millisecond)
	}
	return at(50), at(99), at(100)
}
