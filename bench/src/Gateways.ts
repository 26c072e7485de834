import { Effect } from "effect"
import { hostBerth } from "./berth/HostedBerth.ts"
import { readResidentMemory } from "./berth/Processes.ts"
import { upstreamEnvironment } from "./Chats.ts"
import type { HttpRequest } from "./measure/TimedRequest.ts"
import { measureInTurns, rateRatio, type ContestantResult } from "./measure/Rounds.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"
import { installPortkey } from "./servers/Competitors.ts"
import { startServer } from "./servers/ServerProcess.ts"

const messages = [{ role: "user", content: "Ahoy! What is the weather like at sea?" }]

const post = (
  path: string,
  model: string,
  stream: boolean,
  headers: Readonly<Record<string, string>> = {}
): HttpRequest => ({
  method: "POST",
  path,
  headers: { authorization: "Bearer bench", "content-type": "application/json", ...headers },
  body: JSON.stringify({ model, messages, ...(stream ? { stream: true } : {}) }),
  expected: 200,
  // Present in the complete answer only.
  awaits: "captain."
})

const answerOf = (stream: boolean) => (stream ? "streamed" : "plain")

const openAiPath = "/v1/chat/completions"

/** Model calls to an instant upstream through Berth, Portkey's gateway and a bare proxy. */
export const gateways: Scenario = (amounts) =>
  Effect.gen(function* () {
    yield* installPortkey
    const upstream = yield* startServer("InstantUpstream")
    const hosted = yield* hostBerth(upstreamEnvironment(upstream.origin))
    const { server: berth } = yield* hosted.berth.pids
    const portkey = yield* startServer("portkey/server", { NODE_ENV: "production" })
    const proxy = yield* startServer("BareProxy", { UPSTREAM: upstream.origin })
    const throughPortkey = {
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${upstream.origin}/v1`
    }
    const { backendUrl } = hosted.berth
    const contestants = (stream: boolean) => [
      { name: "Berth /v1", pid: berth, origin: backendUrl, call: post(openAiPath, "openai/gpt-4o-mini", stream) },
      {
        name: "Berth /api/ai/chat",
        pid: berth,
        origin: backendUrl,
        call: post("/api/ai/chat", "openai/gpt-4o-mini", stream)
      },
      {
        name: "Portkey",
        pid: portkey.pid,
        origin: portkey.origin,
        call: post(openAiPath, "gpt-4o-mini", stream, throughPortkey)
      },
      { name: "bare proxy", pid: proxy.pid, origin: proxy.origin, call: post(openAiPath, "gpt-4o-mini", stream) },
      {
        name: "upstream itself",
        pid: upstream.pid,
        origin: upstream.origin,
        call: post(openAiPath, "gpt-4o-mini", stream)
      }
    ]
    const measured = yield* Effect.forEach([false, true], (stream) =>
      Effect.forEach(amounts.connections, (connections) =>
        Effect.map(
          measureInTurns(
            contestants(stream).map(({ call, name, origin, pid }) => ({
              name: `${name}, ${answerOf(stream)}`,
              pid,
              load: { origin, connections, callOf: () => call }
            })),
            amounts
          ),
          (standings) => ({ stream, connections, standings })
        )
      )
    )
    const levels = measured.flat()
    const memory = yield* Effect.forEach(
      [
        { name: "Berth (server: web and backend)", pid: berth },
        { name: "Portkey", pid: portkey.pid },
        { name: "bare proxy", pid: proxy.pid }
      ],
      ({ name, pid }) => Effect.map(readResidentMemory([pid]), ({ rss }) => ({ name, rss }))
    )
    const row = (stream: boolean, one: ContestantResult, others: ReadonlyArray<ContestantResult>) => {
      const to = (name: string) => {
        const other = others.find((standing) => standing.name === `${name}, ${answerOf(stream)}`)
        return other === undefined || other === one ? "" : formatFigure(rateRatio(one, other))
      }
      const direct = others.find(({ name }) => name === `upstream itself, ${answerOf(stream)}`)
      return [
        one.name,
        String(one.connections),
        ...[one.rate, one.p50, one.p99, one.p50 - (direct?.p50 ?? Number.NaN), one.cpu].map(formatFigure),
        to("Portkey"),
        to("bare proxy")
      ]
    }
    return {
      figures: { unit: "ms", levels, memory },
      tables: [
        {
          title: "Model calls through a gateway to an instant upstream",
          columns: [
            "through",
            "connections",
            "per second",
            "p50 ms",
            "p99 ms",
            "added p50 ms",
            "cpu ms",
            "rate to Portkey",
            "rate to bare proxy"
          ],
          rows: levels.flatMap(({ standings, stream }) => standings.map((one) => row(stream, one, standings))),
          note: "added: latency above the upstream's. cpu: processor time of the answering process per request."
        },
        {
          title: "Resident memory afterwards",
          columns: ["process", "MiB"],
          rows: memory.map(({ name, rss }) => [name, formatFigure(rss)])
        }
      ],
      panels: [
        {
          title: "Model calls a second",
          unit: "/s",
          bars: levels.flatMap(({ connections, standings }) =>
            standings.map(({ name, rate }) => ({
              label: `${name}, ${connections} conn.`,
              value: rate,
              isBaseline: !name.startsWith("Berth")
            }))
          )
        }
      ]
    }
  })
