ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY tools ./tools
COPY src ./src
RUN npm run bundle

FROM ${NODE_IMAGE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Latchkey" \
      org.opencontainers.image.description="Issues, limits, records and revokes credentials for Kubernetes platforms" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="node:24.21.0-bookworm-slim"
ENV NODE_ENV=production
COPY LICENSE /licenses/LICENSE
COPY --from=build /build/dist/THIRD_PARTY_LICENSES /licenses/THIRD_PARTY_LICENSES
COPY --from=build /build/dist/latchkey.mjs /latchkey.mjs
COPY --from=build /build/dist/yaml-worker.mjs /yaml-worker.mjs
# A number, because the kubelet cannot see that a name is not root. Nothing is written: the root file system may be read-only.
USER 65532:65532
EXPOSE 8443 8080 8081
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "/latchkey.mjs"]
