# The dashboard for a team, behind a proxy with TLS: see SECURITY.md, "In a container".
#
#   docker build -t lore-lens .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:8501:8501 -e LORE_TOKEN -e LORE_HOST_NAME=lens.example.com lore-lens

FROM python:3.12-slim AS built
WORKDIR /source
COPY . .
RUN python -m venv /lore && /lore/bin/pip install --no-cache-dir ".[all]"
# Kernels are compiled once, here: the file system is read-only later.
RUN NUMBA_CACHE_DIR=/lore/kernels /lore/bin/lore warmup

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /tmp lore
# Owned by root: whoever runs as "lore" can change none of it.
COPY --from=built /lore /lore
ENV PATH=/lore/bin:$PATH \
    HOME=/tmp \
    NUMBA_CACHE_DIR=/lore/kernels \
    PYTHONDONTWRITEBYTECODE=1 \
    LORE_HOST_NAME= \
    LORE_PATH_PREFIX=
USER lore
WORKDIR /tmp
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD \
    python -c "import os, urllib.request as r; \
    path = os.environ['LORE_PATH_PREFIX'].strip('/') + '/_stcore/health'; \
    r.urlopen('http://127.0.0.1:8501/' + path.lstrip('/'), timeout=4)"
# exec: signals reach the server.
CMD ["sh", "-c", "exec lore app --headless --port 8501 --listen 0.0.0.0 --path-prefix \"$LORE_PATH_PREFIX\" ${LORE_HOST_NAME:+--host-name \"$LORE_HOST_NAME\"}"]
