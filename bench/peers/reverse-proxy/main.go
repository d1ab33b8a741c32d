// Command reverse-proxy does the gateway's duties for requests to the platform with client-go and httputil.ReverseProxy: it watches
// all credentials, and serves their holders within their scope.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig with a token that may impersonate")
	address := flag.String("listen", "127.0.0.1:8443", "where clients are served")
	certificate := flag.String("cert", "", "path of the certificate chain, PEM")
	key := flag.String("key", "", "path of its private key, PEM")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := newHandler(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, newServer(*address, handler), *certificate, *key); err != nil {
		log.Fatal(err)
	}
}

func newHandler(ctx context.Context, config *rest.Config) (http.Handler, error) {
	credentials := newCredentials()
	synced, err := credentials.watch(ctx, config)
	if err != nil {
		return nil, err
	}
	proxy, err := newProxy(config, credentials, newMetrics(prometheus.NewRegistry()))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	// The multiplexer would redirect paths that it does not like; what is not its own goes on as it came.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			mux.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}), nil
}

// newServer has the limits of the gateway: HTTP/1.1 only, TLS 1.2 and newer.
func newServer(address string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              address,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    16 << 10,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
}

func serve(ctx context.Context, server *http.Server, certificate, key string) error {
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServeTLS(certificate, key); err != http.ErrServerClosed {
		return err
	}
	return nil
}
