# The same keys as manifests: jq -f restore.jq keys.json | kubectl create -f -
# All are disabled, because no one can tell which were deleted after the backup. Keys that have ended meanwhile are left out, and
# the others have what is left of their life.
{
  apiVersion: "v1",
  kind: "List",
  items: [
    .[]
    | select(.end == null or (.end | fromdate) > now)
    | {
        apiVersion: "management.platform.sh/v1",
        kind: "OwnedAccessKey",
        metadata,
        spec: (.spec + {disabled: true} + if .end then {ttl: ((.end | fromdate) - now | floor)} else {} end)
      }
  ]
}
