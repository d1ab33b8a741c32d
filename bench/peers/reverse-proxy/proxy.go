package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// exchange is one request under way.
type exchange struct {
	asked   *requestInfo
	verdict *verdict
	status  int
}

type exchangeKey struct{}

type proxy struct {
	credentials   *credentials
	metrics       *metrics
	server        *url.URL
	authorization []string
	reverse       *httputil.ReverseProxy
}

func newProxy(config *rest.Config, known *credentials, metrics *metrics) (*proxy, error) {
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	made := &proxy{credentials: known, metrics: metrics, server: server, authorization: []string{"Bearer " + config.BearerToken}}
	made.reverse = &httputil.ReverseProxy{
		Rewrite:        made.rewrite,
		ModifyResponse: made.answer,
		BufferPool:     &buffers{},
		ErrorLog:       log.New(io.Discard, "", 0),
		Transport: &http.Transport{
			TLSClientConfig:       tlsConfig,
			MaxIdleConnsPerHost:   256,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: 90 * time.Second,
			// Without it the transport asks for compressed answers that no client asked for, and unpacks them.
			DisableCompression: true,
		},
	}
	return made, nil
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if refused(r) {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	hash, err := bearerHash(r.Header)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	verdict, err := p.credentials.find(hash)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	asked, err := resolve(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if !verdict.scope.allows(asked) {
		http.Error(w, "out of scope", http.StatusForbidden)
		return
	}
	leave, entered := verdict.enter(asked.long())
	if !entered {
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	defer leave()
	one := &exchange{asked: asked, verdict: verdict}
	p.metrics.underway.Inc()
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, one)))
	p.metrics.underway.Dec()
	p.metrics.observe(one, time.Since(began))
}

// refused: more headers than the gateway takes, or one that only the gateway may send.
func refused(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			return true
		}
	}
	return len(r.Header) > 100 || len(r.RequestURI) > 8192
}

var droppedRequest = []string{
	"Audit-Id", "Cookie", "Expect", "Forwarded", "Http2-Settings", "Proxy-Authorization", "X-Real-Ip",
}

func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	one := r.In.Context().Value(exchangeKey{}).(*exchange)
	out := r.Out
	out.URL = &url.URL{Scheme: p.server.Scheme, Host: p.server.Host, Opaque: one.asked.path, RawQuery: one.asked.query}
	out.Host = p.server.Host
	for _, name := range droppedRequest {
		out.Header.Del(name)
	}
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Sec-Websocket-") {
			delete(out.Header, name)
		}
	}
	if address, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		out.Header["X-Forwarded-For"] = []string{address}
	}
	for name, values := range one.verdict.header {
		out.Header[name] = values
	}
	out.Header["Authorization"] = p.authorization
}

var droppedResponse = []string{
	"Accept-Ch", "Alt-Svc", "Clear-Site-Data", "Expect-Ct", "Nel", "Public-Key-Pins", "Refresh", "Report-To",
	"Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Www-Authenticate",
}

func (p *proxy) answer(response *http.Response) error {
	one := response.Request.Context().Value(exchangeKey{}).(*exchange)
	one.status = response.StatusCode
	if response.StatusCode == http.StatusUnauthorized {
		one.status = http.StatusServiceUnavailable
		response.StatusCode = one.status
	}
	for _, name := range droppedResponse {
		delete(response.Header, name)
	}
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(response.Header, name)
		}
	}
	if location := response.Header.Get("Location"); strings.HasPrefix(location, "/") {
		response.Header.Set("Location", prefix+location)
	}
	return nil
}

// buffers are used again: without a pool each answer takes 32 KiB.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if found, ok := b.pool.Get().(*[]byte); ok {
		return *found
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
