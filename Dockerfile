# The image around dist/podseidon (made by `make build` on the same processor architecture). One image serves all roles:
#   docker build -t podseidon .
#   docker run --rm podseidon --version
#   docker run --read-only --cap-drop=ALL -p 8843:8843 -p 8081:8081 -v /etc/podseidon:/etc/podseidon:ro \
#     podseidon --role=webhook ...
# scripts/image-root.ts reads this file and assembles the same root file system where there is no container engine; keep
# each instruction as simple as it is, or teach that script the new one.
FROM debian:trixie-slim

# The shared libraries that Node needs beyond the base image; test/packaging compares this list with the executable.
RUN apt-get update \
  && apt-get install -y --no-install-recommends libatomic1 libgcc-s1 libstdc++6 \
  && rm -rf /var/lib/apt/lists/*

COPY dist/THIRD-PARTY-LICENSES.txt dist/sbom.cdx.json /usr/share/doc/podseidon/
COPY dist/podseidon /usr/local/bin/podseidon

# Outside a container the servers listen on loopback; in one, nothing could reach them there.
ENV PODSEIDON_FLAG_HEALTHZ_BIND_ADDR=::
ENV PODSEIDON_FLAG_PROMETHEUS_HTTP_BIND_ADDR=::
ENV PODSEIDON_FLAG_WEBHOOK_BIND_ADDR=::
ENV PODSEIDON_FLAG_WEBHOOK_HTTPS_BIND_ADDR=::

# Webhook (HTTP, HTTPS), health, metrics.
EXPOSE 8080 8843 8081 9090

# A number, so that Kubernetes can see that it is not root; it needs no entry in /etc/passwd.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/podseidon"]
