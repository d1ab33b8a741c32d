// Answers with the API server's own code, line by line from standard input to standard output, in JSON.
//
//	apiserver requests   <method> <target>        the RequestInfo of a request, or an error
//	apiserver encode     SelfSubjectAccessReview  the same as protobuf, in base64
//	apiserver decode     protobuf, in base64      the review, or an error
//	apiserver yaml       YAML, in base64          what it holds, as text of JSON, or an error
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

const maxLine = 1 << 20

type answer map[string]any

var scheme = runtime.NewScheme()

var codec = protobuf.NewSerializer(scheme, scheme)

// The prefixes that kube-apiserver is started with.
var resolver = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

var modes = map[string]func(string) (any, error){
	"requests": requestInfo, "encode": encode, "decode": decode, "yaml": readYAML,
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 || modes[os.Args[1]] == nil {
		return errors.New("usage: apiserver requests|encode|decode|yaml")
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := authorization.AddToScheme(scheme); err != nil {
		return err
	}
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		result, err := modes[os.Args[1]](lines.Text())
		if err != nil {
			result = answer{"error": err.Error()}
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return output.Flush()
}

func requestInfo(line string) (any, error) {
	method, target, _ := strings.Cut(line, " ")
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, err
	}
	info, err := resolver.NewRequestInfo(&http.Request{Method: method, URL: parsed})
	if err != nil {
		return nil, err
	}
	return []any{
		info.Path, info.IsResourceRequest, info.Verb, info.APIGroup, info.APIVersion,
		info.Namespace, info.Resource, info.Subresource, info.Name,
	}, nil
}

func encode(line string) (any, error) {
	review := &authorization.SelfSubjectAccessReview{}
	if err := json.Unmarshal([]byte(line), review); err != nil {
		return nil, err
	}
	review.SetGroupVersionKind(authorization.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"))
	var text strings.Builder
	if err := codec.Encode(review, &text); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(text.String())), nil
}

func decode(line string) (any, error) {
	data, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		return nil, err
	}
	object, _, err := codec.Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	review, ok := object.(*authorization.SelfSubjectAccessReview)
	if !ok {
		return nil, fmt.Errorf("it is a %T", object)
	}
	return review.Spec, nil
}

// As it reads the body of a request where unknown and repeated fields are an error.
func readYAML(line string) (any, error) {
	data, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		return nil, err
	}
	json, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, err
	}
	return answer{"json": string(json)}, nil
}
