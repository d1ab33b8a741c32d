package main

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scopes says which kinds have a namespace.
type scopes struct{ mapper meta.RESTMapper }

func (s scopes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	mapping, err := s.mapper.RESTMapping(kind)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
