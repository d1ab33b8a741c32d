ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY tools ./tools
COPY src ./src
RUN npm run bundle

# Of the system nothing is shipped but the libraries that Node is linked with: no shell, no package manager, no npm.
FROM ${NODE_IMAGE} AS system
RUN mkdir -p /image \
 && ldd /usr/local/bin/node | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory=/image
# How names are resolved, the licences of the libraries, and their records, by which scanners of images know them.
RUN mkdir -p /image/var/lib/dpkg \
 && cp --dereference --parents --target-directory=/image /usr/local/bin/node /etc/nsswitch.conf /etc/os-release \
    /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright /usr/share/doc/libstdc++6/copyright \
 && dpkg-query --status libc6 libgcc-s1 libstdc++6 > /image/var/lib/dpkg/status

FROM scratch
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Latchkey" \
      org.opencontainers.image.description="Issues, limits, records and revokes credentials for Kubernetes platforms" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production
COPY --from=system /image /
COPY LICENSE /licenses/LICENSE
COPY --from=build /build/dist/THIRD_PARTY_LICENSES /licenses/THIRD_PARTY_LICENSES
COPY --from=build /build/dist/latchkey.mjs /latchkey.mjs
COPY --from=build /build/dist/yaml-worker.mjs /yaml-worker.mjs
COPY --from=build /build/dist/latchkey-cli.cjs /latchkey-cli.cjs
# A number, because the kubelet cannot see that a name is not root. Nothing is written: the root file system may be read-only.
USER 65532:65532
EXPOSE 8443 8080 8081
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/node", "/latchkey.mjs"]
