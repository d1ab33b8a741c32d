package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

const steps = int(duration / scrapeInterval)

// What a Prometheus would have stored: by the text of the labels, one value for each scrape.
type recording map[string]*stored

type stored struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// Each target by itself; what scenarios have in common is read once.
func recordAll(targets map[string]target, start time.Time) (map[string]recording, error) {
	recorded := map[string]recording{}
	for name, each := range targets {
		recorded[name] = recording{}
		if err := recorded[name].scrape(each, start); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return recorded, nil
}

func (s scenario) apply(recorded map[string]recording, targets map[string]target, start time.Time) (recording, error) {
	changed := recording{}
	for name, each := range recorded {
		if !slices.Contains(s.Gone, name) {
			maps.Copy(changed, each)
		}
	}
	for name, series := range s.Series {
		if _, known := targets[name]; !known {
			return nil, fmt.Errorf("there is no target %q", name)
		}
		for _, text := range series {
			if err := changed.replace(text, targets[name].Labels, start); err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	return changed, nil
}

func (r recording) scrape(from target, start time.Time) error {
	up := labelsOf(labels.FromStrings(labels.MetricName, "up"), from.Labels)
	var seen []point
	for step := range steps {
		if step < len(from.Scrapes) {
			var err error
			if seen, err = read(from.Scrapes[step], from.Labels); err != nil {
				return err
			}
			seen = append(seen, point{key: up.String(), labels: up, value: 1})
		}
		for _, each := range seen {
			r.add(each, start.Add(time.Duration(step)*scrapeInterval))
		}
	}
	return nil
}

// A value in a scrape.
type point struct {
	key    string
	labels labels.Labels
	value  float64
}

func read(text string, added map[string]string) ([]point, error) {
	points := []point{}
	parser := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return points, nil
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var own labels.Labels
		parser.Labels(&own)
		_, _, value := parser.Series()
		all := labelsOf(own, added)
		points = append(points, point{key: all.String(), labels: all, value: value})
	}
}

func (r recording) replace(text string, added map[string]string, start time.Time) error {
	own, values, err := promqlParser.ParseSeriesDesc(text)
	if err != nil {
		return err
	}
	all := labelsOf(own, added)
	key := all.String()
	delete(r, key)
	for step := range steps {
		value := values[min(step, len(values)-1)]
		if !value.Omitted {
			r.add(point{key: key, labels: all, value: value.Value}, start.Add(time.Duration(step)*scrapeInterval))
		}
	}
	return nil
}

func (r recording) add(each point, at time.Time) {
	if r[each.key] == nil {
		r[each.key] = &stored{labels: each.labels}
	}
	r[each.key].samples = append(r[each.key].samples, sample{at: at.UnixMilli(), value: each.value})
}

func labelsOf(own labels.Labels, added map[string]string) labels.Labels {
	builder := labels.NewBuilder(own)
	for name, value := range added {
		builder.Set(name, value)
	}
	return builder.Labels()
}

type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func (r recording) Querier(_, _ int64) (storage.Querier, error) { return querier{r}, nil }

type querier struct{ recording }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := []storage.Series{}
	for _, each := range q.recording {
		if matches(each.labels, matchers) {
			found = append(found, storage.NewListSeries(each.labels, each.samples))
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &seriesSet{series: found, at: -1}
}

func matches(all labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool {
		return !matcher.Matches(all.Get(matcher.Name))
	})
}

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }
