package main

import (
	"net/http"
	"time"
)

// The surroundings of the declarations of Argo CD in declarations.go, which argocd-cluster.ts cuts out of its module.

type ConnectionStatus = string

const (
	KubernetesInternalAPIServerAddr = "https://kubernetes.default.svc"
	EnvVarFakeInClusterConfig       = "ARGOCD_FAKE_IN_CLUSTER"
	AnnotationKeyRefresh            = "argocd.argoproj.io/refresh"
	LabelKeySecretType              = "argocd.argoproj.io/secret-type"
	AnnotationKeyManagedBy          = "managed-by"
	K8sClientConfigQPS              = 50
	K8sClientConfigBurst            = 100
	K8sMaxIdleConnections           = 500
	K8sTCPTimeout                   = 30 * time.Second
	K8sTCPKeepAlive                 = 30 * time.Second
	K8sTLSHandshakeTimeout          = 10 * time.Second
	K8sTCPIdleConnTimeout           = 5 * time.Minute
	K8sServerSideTimeout            = 20 * time.Second
)

type noEnvironment struct{}

func (noEnvironment) ParseInt64FromEnv(string, int64, int64, int64) int64 { return 0 }
func (noEnvironment) ParseBoolFromEnv(string, bool) bool                  { return false }

var env noEnvironment

type noRetries struct{ EnvRetryMax, EnvRetryBaseBackoff string }

func (noRetries) WithRetry(int64, time.Duration) func(http.RoundTripper) http.RoundTripper {
	return nil
}

var utilhttp noRetries
