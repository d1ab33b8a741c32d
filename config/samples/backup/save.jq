# Access keys that are ready, without their secrets: kubectl get oak -o json | jq -f save.jq > keys.json
# In place of a key stands its hash. A key in a Secret is made again.
[
  .items[]
  | select(.status.state == "Ready")
  | {
      metadata: {name: .metadata.name, labels: .metadata.labels},
      end: .status.notAfter,
      spec: (.spec + if .spec.secretRef then {} else {key: ("sha256:" + .status.credentialHash)} end)
    }
]
