package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	issuer                   = "https://latchkey.example.com"
	requesterAnnotation      = "management.platform.sh/requester"
	requesterGroupAnnotation = "management.platform.sh/requester-groups"
	defaultTTL               = 86_400
)

type claims struct {
	Issuer   string        `json:"iss"`
	Audience []string      `json:"aud"`
	Subject  string        `json:"sub"`
	Groups   []string      `json:"groups"`
	IssuedAt int64         `json:"iat"`
	From     int64         `json:"nbf"`
	Expires  int64         `json:"exp"`
	ID       string        `json:"jti"`
	Platform platformClaim `json:"management.platform.sh"`
}

type platformClaim struct {
	Object map[string]string `json:"object"`
	Scopes []json.RawMessage `json:"scopes"`
}

type signer struct {
	key    *ecdsa.PrivateKey
	keyID  string
	header string
}

func newSigner(key *ecdsa.PrivateKey, keyID string) (*signer, error) {
	header, err := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": keyID})
	return &signer{key: key, keyID: keyID, header: base64.RawURLEncoding.EncodeToString(header)}, err
}

// sign returns a compact JWT with ES256: the signature is r and s, 32 bytes each.
func (s *signer) sign(content *claims) (string, error) {
	payload, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	input := s.header + "." + base64.RawURLEncoding.EncodeToString(payload)
	digest := sha256.Sum256([]byte(input))
	r, sigS, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		return "", err
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	sigS.FillBytes(signature[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(signature[:]), nil
}

type tokenReconciler struct {
	client client.Client
	events *eventBudget
	signer *signer
}

func (r *tokenReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	token := &DirectClusterEndpointToken{}
	if err := r.client.Get(ctx, request.NamespacedName, token); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if token.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	print, err := fingerprint(&token.Spec)
	if err != nil || settled(&token.Status, token.Generation, print) {
		return ctrl.Result{}, err
	}
	now := time.Now().Truncate(time.Second)
	status, err := r.issue(token, print, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := writeStatus(ctx, r.client, token, status); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("credential changed", "reason", "Issued")
	r.events.issued(token, status.Serial)
	// A fifth of the life before the end the condition ExpiringSoon is due.
	return ctrl.Result{RequeueAfter: status.NotAfter.Sub(now) * 4 / 5}, nil
}

func (r *tokenReconciler) issue(token *DirectClusterEndpointToken, print string, now time.Time) (*Status, error) {
	ttl := token.Spec.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	serial := token.Status.Serial + 1
	end := now.Add(time.Duration(ttl) * time.Second)
	content, err := claimsOf(token, serial, now, end)
	if err != nil {
		return nil, err
	}
	bearer, err := r.signer.sign(content)
	if err != nil {
		return nil, err
	}
	issuedAt, notAfter := metav1.NewTime(now), metav1.NewTime(end)
	return &Status{
		Conditions:          readyCondition("The token is confirmed and works.", token.Generation, now),
		ObservedGeneration:  token.Generation,
		CredentialHash:      sha256Hex([]byte(bearer)),
		Fingerprint:         print,
		Serial:              serial,
		ConfirmedTTL:        &ttl,
		IssuedAt:            &issuedAt,
		NotAfter:            &notAfter,
		ExpirationTimestamp: &notAfter,
		KeyID:               r.signer.keyID,
		Token:               bearer,
	}, nil
}

func claimsOf(token *DirectClusterEndpointToken, serial int64, now, end time.Time) (*claims, error) {
	user := token.Annotations[requesterAnnotation]
	if user == "" || strings.HasPrefix(user, "system:") {
		return nil, fmt.Errorf("token %s has no requester that may have one", token.Name)
	}
	var groups []string
	if err := json.Unmarshal([]byte(token.Annotations[requesterGroupAnnotation]), &groups); err != nil {
		return nil, err
	}
	audience, err := audienceOf(token.Spec.Scope)
	if err != nil {
		return nil, err
	}
	platform := platformClaim{
		Object: map[string]string{"kind": "DirectClusterEndpointToken", "name": token.Name, "uid": string(token.UID)},
		Scopes: []json.RawMessage{},
	}
	if len(token.Spec.Scope) > 0 {
		platform.Scopes = append(platform.Scopes, token.Spec.Scope)
	}
	return &claims{
		Issuer:   issuer,
		Audience: audience,
		Subject:  user,
		Groups:   unreserved(groups),
		IssuedAt: now.Unix(),
		From:     now.Unix(),
		Expires:  end.Unix(),
		ID:       fmt.Sprintf("%s.%d", token.UID, serial),
		Platform: platform,
	}, nil
}

func audienceOf(scope json.RawMessage) ([]string, error) {
	if len(scope) == 0 {
		return []string{issuer + "/clusters"}, nil
	}
	var parsed struct {
		Clusters []struct {
			Cluster string `json:"cluster"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(scope, &parsed); err != nil {
		return nil, err
	}
	audience := []string{}
	for _, entry := range parsed.Clusters {
		audience = append(audience, issuer+"/cluster/"+entry.Cluster)
	}
	return audience, nil
}

func unreserved(groups []string) []string {
	kept := []string{}
	for _, group := range groups {
		if !strings.HasPrefix(group, "system:") {
			kept = append(kept, group)
		}
	}
	return kept
}
