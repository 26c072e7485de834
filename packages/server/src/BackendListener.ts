import { BackendApi, RuntimeRoutesApi } from "@berth/api/BackendApi"
import { runtimeSpansPath } from "@berth/api/runtime/RuntimeContract"
import { transcriptionsPath } from "@berth/api/gateway/speech/SpeechApi"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { HttpLayerRouter, HttpServerResponse, OpenApi } from "@effect/platform"
import { Effect, Layer } from "effect"
import * as AiAccessHttp from "./ai/AiAccessHttp.ts"
import { makeAiDirectRoutes } from "./ai/AiDirectRoutes.ts"
import * as AiHttp from "./ai/AiHttp.ts"
import { isOpenAiPath, openAiBodyLimit, reshapeErrors } from "./ai/OpenAiPaths.ts"
import * as OpenAiHttp from "./ai/OpenAiHttp.ts"
import * as RuntimeAuthHttp from "./runtime/RuntimeAuthHttp.ts"
import * as RuntimeModelHttp from "./runtime/RuntimeModelHttp.ts"
import * as RuntimeToolsHttp from "./runtime/RuntimeToolsHttp.ts"
import * as ModelAnswersHttp from "./gateway/ModelAnswersHttp.ts"
import { maximumFormBytes } from "./gateway/MultipartForm.ts"
import * as SpeechHttp from "./gateway/SpeechHttp.ts"
import * as ChannelTurnsHttp from "./channels/ChannelTurnsHttp.ts"
import * as DocumentationHttp from "./http/DocumentationHttp.ts"
import { healthRoutes } from "@berth/api/http/Health"
import type { DirectRoutes } from "./http/DirectRoutes.ts"
import * as RequestCaller from "./http/RequestCaller.ts"
import { IdempotencyMiddleware } from "./http/IdempotencyMiddleware.ts"
import * as InternalAuthHttp from "./http/InternalAuthHttp.ts"
import * as HttpListener from "./http/HttpListener.ts"
import * as MetricsHttp from "./http/MetricsHttp.ts"
import { defaultBodyLimit } from "./http/RequestBody.ts"
import { makeHttpPipeline, type Pipeline } from "./http/HttpPipeline.ts"
import { addApi } from "./http/RequestRouter.ts"
import { healthPaths, listRoutes } from "./http/RouteTable.ts"
import { withRedactedHeaders } from "./http/SpanRedaction.ts"
import * as AgentManagerHttp from "./instances/AgentManagerHttp.ts"
import * as BackendProvisioningHttp from "./provisioning/BackendProvisioningHttp.ts"
import * as JobsHttp from "./jobs/JobsHttp.ts"
import { RequestCredentials } from "./http/RequestCredentials.ts"
import { sessionCookieLayer } from "./http/SecretCookies.ts"

const groups = Layer.mergeAll(
  AiHttp.layer,
  OpenAiHttp.layer,
  AgentManagerHttp.layer,
  RuntimeModelHttp.layer,
  RuntimeToolsHttp.layer,
  JobsHttp.layer,
  ModelAnswersHttp.layer,
  SpeechHttp.layer,
  BackendProvisioningHttp.layer,
  ChannelTurnsHttp.layer
)

const middlewares = Layer.mergeAll(InternalAuthHttp.layer, RuntimeAuthHttp.layer, AiAccessHttp.layer)

const table = [
  ...listRoutes(BackendApi),
  ...healthPaths,
  ...DocumentationHttp.documentationRoutes,
  ...DocumentationHttp.frontRoutes,
  ...MetricsHttp.metricsRoutes
]

/** Turns contain their history, so internal paths accept larger bodies. */
const internalBodyLimit = openAiBodyLimit
const bodyLimit = (path: string) =>
  path === transcriptionsPath
    ? maximumFormBytes
    : (path.startsWith("/internal/") && path !== runtimeSpansPath) || isOpenAiPath(path)
      ? internalBodyLimit
      : defaultBodyLimit

/** Built by the first request: it takes a tenth of the processor time of loading the program. */
const openApi = HttpLayerRouter.use((router) =>
  Effect.flatMap(
    Effect.cached(Effect.sync(() => HttpServerResponse.unsafeJson(OpenApi.fromApi(BackendApi)))),
    (document) => router.add("GET", "/openapi.json", document)
  )
)

const makeBackendDirectRoutes = Effect.zipWith(
  makeAiDirectRoutes,
  RuntimeModelHttp.makeRuntimeDirectRoutes,
  (ofModels, ofRuntimes): DirectRoutes => new Map([...ofModels, ...ofRuntimes])
)

const routes = Layer.mergeAll(
  addApi(BackendApi, makeBackendDirectRoutes).pipe(Layer.provide(groups), Layer.provide(middlewares)),
  openApi,
  DocumentationHttp.layer(BackendApi),
  DocumentationHttp.frontRedirect,
  healthRoutes,
  MetricsHttp.layer
)

const makePipeline = (sendsSpans: boolean) =>
  makeHttpPipeline(table, {
    sameOrigin: false,
    bodyLimit,
    limitsUploads: false,
    reshapeErrors,
    caller: RequestCaller.makeInternalCallerResolver,
    sendsSpans
  })

/** The private listener rejects users' credentials. */
const noCredentials = Layer.succeed(
  RequestCredentials,
  RequestCredentials.make({
    of: () => Effect.succeedNone,
    accept: Effect.succeed,
    find: Effect.succeedNone,
    require: new AuthenticationRequired(),
    findSession: Effect.succeedNone,
    requireSession: new AuthenticationRequired(),
    findToken: Effect.succeedNone,
    findVisitor: Effect.succeedNone
  })
)

/** Only the routes of runtimes, for a second listener: instances must not reach any other backend route. */
const runtimeRoutes = addApi(RuntimeRoutesApi, RuntimeModelHttp.makeRuntimeDirectRoutes).pipe(
  Layer.provide(Layer.merge(RuntimeModelHttp.layer, RuntimeToolsHttp.layer)),
  Layer.provide(RuntimeAuthHttp.layer)
)

const makeRuntimePipeline = (sendsSpans: boolean) =>
  makeHttpPipeline(listRoutes(RuntimeRoutesApi), {
    sameOrigin: false,
    bodyLimit,
    limitsUploads: false,
    reshapeErrors: () => undefined,
    caller: RequestCaller.makeInternalCallerResolver,
    sendsSpans
  })

const serve = <E, R, P>(
  routes: Layer.Layer<never, E, R | HttpLayerRouter.HttpRouter>,
  makeOwnPipeline: (sendsSpans: boolean) => Effect.Effect<Pipeline, never, P>,
  options: HttpListener.HttpListenerOptions
) =>
  HttpListener.serve(routes, makeOwnPipeline(options.sendsSpans !== false)).pipe(
    withRedactedHeaders,
    Layer.provide(Layer.provide(Layer.fresh(IdempotencyMiddleware.Default), noCredentials)),
    Layer.provide(sessionCookieLayer),
    Layer.provide(HttpListener.layer(options))
  )

/** The private listener: AI layer, agent manager, and the routes of runtimes. */
export const layer = (options: HttpListener.HttpListenerOptions) => serve(routes, makePipeline, options)

export const runtimeLayer = (options: HttpListener.HttpListenerOptions) =>
  serve(runtimeRoutes, makeRuntimePipeline, options)
