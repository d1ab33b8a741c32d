package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"net/http"
	"strings"
)

// requestInfo is what the API server will take a request for.
type requestInfo struct {
	// Path and query for the API server.
	path        string
	query       string
	verb        string
	group       string
	version     string
	namespace   string
	resource    string
	name        string
	subresource string
}

const prefix = "/kubernetes/management"

var verbs = map[string]string{
	"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}

func resolve(r *http.Request) (*requestInfo, error) {
	path, found := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	if !found || !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "/..") {
		return nil, errors.New("no such path")
	}
	asked := &requestInfo{path: path, query: r.URL.RawQuery, verb: verbs[r.Method]}
	parts := strings.Split(strings.Trim(r.URL.Path[len(prefix):], "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		asked.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		asked.group, asked.version, parts = parts[1], parts[2], parts[3:]
	default:
		return asked, nil
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		asked.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	asked.resource, asked.name, asked.subresource = parts[0], parts[1], parts[2]
	if asked.verb == "get" && asked.name == "" {
		asked.verb = listVerb(r)
	}
	return asked, nil
}

func listVerb(r *http.Request) string {
	if strings.Contains(r.URL.RawQuery, "watch=") && r.URL.Query().Get("watch") != "false" {
		return "watch"
	}
	return "list"
}

func (i *requestInfo) long() bool {
	return i.verb == "watch" || i.subresource == "log" || i.subresource == "proxy"
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// bearerHash is the SHA-256 of the credential of a request. An access key with a typing error is refused before.
func bearerHash(header http.Header) (string, error) {
	values := header["Authorization"]
	if len(values) != 1 || len(values[0]) < 8 || !strings.EqualFold(values[0][:7], "bearer ") {
		return "", errors.New("no credential")
	}
	bearer := values[0][7:]
	if strings.HasPrefix(bearer, "lk_") && len(bearer) == 52 && !hasChecksum(bearer) {
		return "", errors.New("the access key is not whole")
	}
	sum := sha256.Sum256([]byte(bearer))
	return hex.EncodeToString(sum[:]), nil
}

func hasChecksum(key string) bool {
	sum := crc32.ChecksumIEEE([]byte(key[:46]))
	var digits [6]byte
	for place := 5; place >= 0; place-- {
		digits[place] = alphabet[sum%62]
		sum /= 62
	}
	return string(digits[:]) == key[46:]
}
