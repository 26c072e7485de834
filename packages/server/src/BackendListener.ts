import { openAiFailure } from "@berth/api/ai/OpenAiErrors"
import { BackendApi } from "@berth/api/BackendApi"
import { transcriptionsPath } from "@berth/api/gateway/SpeechApi"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { HttpLayerRouter } from "@effect/platform"
import { identity, Layer } from "effect"
import * as AiAccessHttp from "./ai/AiAccessHttp.ts"
import { directRoutes } from "./ai/AiDirectRoutes.ts"
import * as AiHttp from "./ai/AiHttp.ts"
import * as OpenAiHttp from "./ai/OpenAiHttp.ts"
import * as CellAuthHttp from "./cell/CellAuthHttp.ts"
import * as CellMemoryHttp from "./cell/CellMemoryHttp.ts"
import * as CellModelHttp from "./cell/CellModelHttp.ts"
import * as ModelAnswersHttp from "./gateway/ModelAnswersHttp.ts"
import { formLimit } from "./gateway/ReadForm.ts"
import * as SpeechHttp from "./gateway/SpeechHttp.ts"
import * as Documentation from "./http/Documentation.ts"
import * as HealthHttp from "./http/HealthHttp.ts"
import * as CallerHttp from "./http/CallerHttp.ts"
import { Idempotency } from "./http/Idempotency.ts"
import * as InternalAuthHttp from "./http/InternalAuthHttp.ts"
import * as Listener from "./http/Listener.ts"
import * as MetricsHttp from "./http/MetricsHttp.ts"
import { defaultBodyLimit } from "./http/RequestBody.ts"
import { requestRules } from "./http/RequestRules.ts"
import { withPlainSpans } from "./http/RequestSpan.ts"
import { routesOf } from "./http/RouteTable.ts"
import { withHiddenHeaders } from "./http/SpanSecrets.ts"
import * as AgentManagerHttp from "./instances/AgentManagerHttp.ts"
import * as JobsHttp from "./jobs/JobsHttp.ts"
import { RequestSession } from "./sessions/RequestSession.ts"
import * as SessionCookie from "./sessions/SessionCookie.ts"

const groups = Layer.mergeAll(
  AiHttp.layer,
  OpenAiHttp.layer,
  AgentManagerHttp.layer,
  CellModelHttp.layer,
  CellMemoryHttp.layer,
  JobsHttp.layer,
  ModelAnswersHttp.layer,
  SpeechHttp.layer
)

const middlewares = Layer.mergeAll(InternalAuthHttp.layer, CellAuthHttp.layer, AiAccessHttp.layer)

const table = [
  ...routesOf(BackendApi),
  ...HealthHttp.healthRoutes,
  ...Documentation.documentationRoutes,
  ...Documentation.frontRoutes,
  ...MetricsHttp.metricsRoutes
]

/** A turn carries its history, so the private paths take more than what a person sends. */
const internalBodyLimit = 8 * 1024 * 1024
const bodyLimit = (path: string) =>
  path === transcriptionsPath
    ? formLimit
    : path.startsWith("/internal/") || isOpenAis(path)
      ? internalBodyLimit
      : defaultBodyLimit

/** The paths whose clients are OpenAI's: their errors have its shape, and their bodies carry images. */
const isOpenAis = (path: string) => path.startsWith("/v1/")
const reshapeErrors = (path: string) => (isOpenAis(path) ? openAiFailure : undefined)

const routes = Layer.mergeAll(
  HttpLayerRouter.addHttpApi(BackendApi, { openapiPath: "/openapi.json" }).pipe(
    Layer.provide(groups),
    Layer.provide(middlewares)
  ),
  Documentation.layer(BackendApi),
  Documentation.front,
  HealthHttp.layer,
  MetricsHttp.layer
).pipe(
  Layer.provide(
    requestRules(table, {
      sameOrigin: false,
      bodyLimit,
      reshapeErrors,
      caller: CallerHttp.colleague,
      direct: directRoutes
    })
  )
)

/** Nobody shows an access token here. */
const noAccessTokens = Layer.succeed(BearerSessions, BearerSessions.make({ authenticate: () => new NotSignedIn() }))

/** The private listener: the AI layer, the agent manager, and what cells ask for. */
export const layer = (options: Listener.ListenerOptions) =>
  Layer.fresh(
    HttpLayerRouter.serve(routes, {
      disableLogger: true,
      disableListenLog: true,
      routerConfig: Listener.routerConfig
    })
  ).pipe(
    withHiddenHeaders,
    options.sendsSpans === false ? withPlainSpans : identity,
    Layer.provide(
      Layer.provide(Layer.provide(Layer.fresh(Idempotency.Default), noAccessTokens), RequestSession.Default)
    ),
    Layer.provide(SessionCookie.layer),
    Layer.provide(Listener.layer(options))
  )
