package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Requests at once with one credential.
const (
	maxShort = 100
	maxLong  = 500
)

// verdict is what a request with a good credential needs.
type verdict struct {
	end time.Time
	// Absent: no scope.
	scope  *scope
	header http.Header
	short  atomic.Int64
	long   atomic.Int64
	// Epoch milliseconds.
	lastUse atomic.Int64
}

func judge(object *Credential) (*verdict, error) {
	if object.Spec.Disabled || object.DeletionTimestamp != nil || object.Spec.AccessKey != "" || object.Spec.User == "" {
		return nil, errors.New("the credential is not good")
	}
	made := &verdict{header: http.Header{}}
	if object.Status.NotAfter != nil {
		made.end = object.Status.NotAfter.Time
	}
	made.header["Impersonate-User"] = []string{object.Spec.User}
	made.header["Impersonate-Group"] = object.Spec.Groups
	made.header["Impersonate-Extra-management.platform.sh%2Faccess-key"] = []string{fmt.Sprintf("%s/%s", object.Name, object.UID)}
	if len(object.Spec.Scope) == 0 {
		return made, nil
	}
	made.header["Impersonate-Extra-management.platform.sh%2Faccess-key-limited"] = []string{"true"}
	made.scope = &scope{}
	return made, json.Unmarshal(object.Spec.Scope, made.scope)
}

// enter takes one of the places of the credential. The function gives it back.
func (v *verdict) enter(long bool) (func(), bool) {
	count, limit := &v.short, int64(maxShort)
	if long {
		count, limit = &v.long, maxLong
	}
	if count.Add(1) > limit {
		count.Add(-1)
		return nil, false
	}
	v.lastUse.Store(time.Now().UnixMilli())
	return func() { count.Add(-1) }, true
}

// scope is compared entry by entry. For requests to the platform, which is all that this program serves, only rules and projects
// allow anything.
type scope struct {
	Projects []struct {
		Project string `json:"project"`
	} `json:"projects"`
	Spaces          []json.RawMessage `json:"spaces"`
	VirtualClusters []json.RawMessage `json:"virtualClusters"`
	Clusters        []json.RawMessage `json:"clusters"`
	Rules           []rule            `json:"rules"`
}

type rule struct {
	RequestTargets []string `json:"requestTargets"`
	Verbs          []string `json:"verbs"`
	Namespaces     []string `json:"namespaces"`
	Resources      []struct {
		Group     string   `json:"group"`
		Resources []string `json:"resources"`
	} `json:"resources"`
}

func (s *scope) allows(asked *requestInfo) bool {
	if s == nil {
		return true
	}
	for _, entry := range s.Projects {
		if asked.namespace == "p-"+entry.Project && asked.group == groupVersion.Group && isRead(asked.verb) {
			return true
		}
	}
	return slices.ContainsFunc(s.Rules, func(one rule) bool { return one.allows(asked) })
}

func (r *rule) allows(asked *requestInfo) bool {
	return listed(r.RequestTargets, "Management") && listed(r.Verbs, asked.verb) &&
		listed(r.Namespaces, asked.namespace) && r.names(asked)
}

func (r *rule) names(asked *requestInfo) bool {
	for _, matcher := range r.Resources {
		if matcher.Group == asked.group && listed(matcher.Resources, asked.resource) {
			return true
		}
	}
	return len(r.Resources) == 0
}

// listed: an empty list allows everything.
func listed(list []string, value string) bool {
	return len(list) == 0 || slices.Contains(list, value) || slices.Contains(list, "*")
}

func isRead(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }
