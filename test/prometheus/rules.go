package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

const evaluationInterval = time.Minute

var promqlParser = parser.NewParser(parser.Options{})

// As `promtool check rules` does it.
func parseRules(text string) (rules []rulefmt.Rule, problems []string) {
	groups, errs := rulefmt.Parse([]byte(text), false, model.UTF8Validation, promqlParser, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules, []string{}
}

func evaluate(rules []rulefmt.Rule, recorded recording, start time.Time) ([]firing, error) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, Parser: promqlParser})
	ctx := context.Background()
	all := []firing{}
	for _, rule := range rules {
		query, err := engine.NewRangeQuery(ctx, recorded, nil, rule.Expr, start, start.Add(duration), evaluationInterval)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Alert, err)
		}
		found, err := query.Exec(ctx).Matrix()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Alert, err)
		}
		for _, series := range found {
			point, held := firstFiring(series.Floats, time.Duration(rule.For))
			if !held {
				continue
			}
			fired, err := expand(ctx, rule, promql.Sample{Metric: series.Metric, T: point.T, F: point.F})
			if err != nil {
				return nil, err
			}
			all = append(all, fired)
		}
		query.Close()
	}
	return all, nil
}

// The first evaluation at which the expression has held for that long without a gap.
func firstFiring(points []promql.FPoint, hold time.Duration) (promql.FPoint, bool) {
	since := 0
	for i, point := range points {
		if i > 0 && point.T-points[i-1].T > evaluationInterval.Milliseconds() {
			since = i
		}
		if time.Duration(point.T-points[since].T)*time.Millisecond >= hold {
			return point, true
		}
	}
	return promql.FPoint{}, false
}

func expand(ctx context.Context, rule rulefmt.Rule, sample promql.Sample) (firing, error) {
	fired := firing{Alert: rule.Alert, Labels: sample.Metric.Map(), Annotations: map[string]string{}}
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	for name, text := range rule.Labels {
		fired.Labels[name] = text
	}
	for name, text := range rule.Annotations {
		lines := []string{"{{$labels := .Labels}}", "{{$value := .Value}}", text}
		// A label that the expression does not leave is a mistake here; Prometheus would leave a gap in the text.
		strict := []string{"missingkey=error"}
		expander := template.NewTemplateExpander(ctx, strings.Join(lines, ""), rule.Alert, data, model.Time(sample.T), nil, nil, strict)
		expanded, err := expander.Expand()
		if err != nil {
			return fired, fmt.Errorf("%s, %s: %w", rule.Alert, name, err)
		}
		fired.Annotations[name] = expanded
	}
	return fired, nil
}
