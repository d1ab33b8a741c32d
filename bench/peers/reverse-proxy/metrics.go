package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	underway prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) *metrics {
	made := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"target", "verb", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "request_duration_seconds",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}, []string{"target", "verb"}),
		underway: prometheus.NewGauge(prometheus.GaugeOpts{Name: "requests_underway"}),
	}
	registry.MustRegister(made.requests, made.seconds, made.underway)
	return made
}

func (m *metrics) observe(one *exchange, took time.Duration) {
	m.requests.WithLabelValues("management", one.asked.verb, strconv.Itoa(one.status)).Inc()
	if !one.asked.long() {
		m.seconds.WithLabelValues("management", one.asked.verb).Observe(took.Seconds())
	}
}
