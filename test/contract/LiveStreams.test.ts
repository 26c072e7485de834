import { LiveFileName } from "@berth/domain/provisioning/live-streams/LiveFile"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { LiveIngest } from "@berth/domain/provisioning/live-streams/LiveIngest"
import { LivePlayback } from "@berth/domain/provisioning/live-streams/LivePlayback"
import { liveLimits, LiveStreamId } from "@berth/domain/provisioning/live-streams/LiveStream"
import { AgentLiveStreams } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import { LiveStreams } from "@berth/domain/provisioning/live-streams/LiveStreams"
import { LiveStreamRepository } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Option, Redacted, Schema } from "effect"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually } from "../support/Eventually.ts"
import { ffmpeg, runFfmpeg } from "../support/Ffmpeg.ts"
import { describeWithTool } from "../support/RequiredTools.ts"
import * as App from "../support/TestApp.ts"
import { assertError, withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithStream } from "./LiveStreamFixtures.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const playlist = (segments: ReadonlyArray<number>, more = "") =>
  [
    "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:1",
    `#EXT-X-MEDIA-SEQUENCE:${segments[0] ?? 0}`,
    ...segments.map((number) => `#EXTINF:1.0,\nseg${number}.ts`),
    more
  ].join("\n")

const decodeLogs = Schema.decodeUnknown(Schema.Array(Schema.Struct({ message: Schema.String, agentId: Schema.String })))

/** Messages of the agent's log about its live stream, oldest first. */
const eventsOf = ({ logs }: Pick<Effect.Effect.Success<typeof createOwnerWithStream>, "logs">) =>
  Effect.gen(function* () {
    const { body } = yield* logs
    const entries = yield* Effect.orDie(decodeLogs(body["logs"]))
    return entries.map(({ message }) => message).filter((message) => message.startsWith("Live stream"))
  })

const impatient = { minimumBytesPerSecond: 1_000_000, grace: Duration.millis(100), perAddress: 4 }

layer(App.layer({ uploads: impatient }), { excludeTestServices: true })("Slow uploads of live streams", (it) => {
  it.effect("An upload below the minimum rate is 408 and leaves nothing, and the stream's next one is stored", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const stream = yield* createOwnerWithStream
      const answer = yield* Effect.async<string>((resume) => {
        let received = ""
        const socket = connect(Number(appUrl.port), "127.0.0.1", () =>
          socket.write(
            `PUT /live/ingest/${stream.key}/seg0.ts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5000000\r\n\r\nslow`
          )
        )
        socket.on("data", (chunk) => {
          received += chunk.toString("latin1")
          if (received.endsWith("}")) socket.destroy()
        })
        socket.once("close", () => resume(Effect.succeed(received)))
      })
      assert.match(answer, /^HTTP\/1\.1 408 [^]*"code":"request_timeout"/)
      const repository = yield* LiveStreamRepository
      assert.strictEqual((yield* repository.listFileNames(stream.liveStreamId)).size, 0)
      assert.strictEqual((yield* stream.upload("seg0.ts", "fast")).status, 204)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Live streams", (it) => {
  it.effect("The origin plays what the encoder uploaded, with type, cache and CORS headers", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      assert.deepInclude(yield* stream.status, {
        status: "idle",
        startedAt: null,
        playbackUrl: stream.playbackUrl
      })
      assert.strictEqual((yield* stream.upload("seg0.ts", "first")).status, 204)
      assert.strictEqual((yield* stream.upload("index.m3u8", playlist([0]))).status, 204)
      const segment = yield* stream.play("seg0.ts", { origin: "https://player.example" })
      assert.deepStrictEqual([segment.status, segment.text], [200, "first"])
      assert.deepInclude(segment.headers, {
        "content-type": "video/mp2t",
        "cache-control": "public, max-age=60",
        "accept-ranges": "bytes",
        "access-control-allow-origin": "*"
      })
      const list = yield* stream.play("index.m3u8")
      assert.deepStrictEqual([list.status, list.text], [200, playlist([0])])
      assert.deepInclude(list.headers, {
        "content-type": "application/vnd.apple.mpegurl",
        "cache-control": "public, max-age=1"
      })
      const status = yield* stream.status
      assert.deepInclude(status, { liveStreamId: stream.liveStreamId, status: "active" })
      assert.isNotNull(status["startedAt"])
      assert.deepStrictEqual(yield* eventsOf(stream), ["Live stream started"])
    })
  )

  it.effect("The end of the playlist ends the broadcast, and so does an encoder that stops uploading", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      const sql = yield* SqlClient
      yield* stream.upload("seg0.ts", "first")
      yield* stream.upload("index.m3u8", playlist([0], "#EXT-X-ENDLIST\n"))
      assert.deepInclude(yield* stream.status, { status: "idle" })
      assert.isNotNull((yield* stream.status)["endedAt"])
      yield* stream.upload("index.m3u8", playlist([0], "#EXT-X-ENDLIST\n"))
      yield* stream.upload("seg1.ts", "second broadcast")
      assert.deepInclude(yield* stream.status, { status: "active", endedAt: null })
      yield* sql`update live_streams set last_upload_at = now() - interval '31 s' where id = ${stream.liveStreamId}`
      assert.deepInclude(yield* stream.status, { status: "idle" })
      const { endIdleBroadcasts } = yield* Effect.provide(LiveIngest, LiveIngest.Default)
      yield* endIdleBroadcasts()
      yield* endIdleBroadcasts()
      const expected = ["Live stream ended", "Live stream started", "Live stream ended", "Live stream started"]
      assert.deepStrictEqual(yield* eventsOf(stream), expected)
    })
  )

  it.effect("A wrong key, an unknown stream and a missing file have one answer", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      yield* stream.upload("seg0.ts", "first")
      const wrong = `${stream.key.slice(0, -1)}${stream.key.endsWith("A") ? "B" : "A"}`
      const keys = [wrong, "x", "-", "%00", stream.liveStreamId, "..", "%2e%2e"]
      const uploads = yield* Effect.forEach(keys, (key) =>
        Effect.forEach(["PUT", "POST", "DELETE"], (method) =>
          App.web({ method, path: `/live/ingest/${key}/seg0.ts`, body: "other" })
        )
      )
      for (const answer of uploads.flat()) assert.strictEqual(answer.status, 404)
      const known = yield* Effect.forEach([wrong, "x"], (key) =>
        Effect.forEach(["seg0.ts", "a.exe", "%2e%2e%2fa.ts"], (file) =>
          App.web({ method: "PUT", path: `/live/ingest/${key}/${file}`, body: "#" })
        )
      )
      const missing = [
        ...known.flat(),
        yield* stream.play("seg1.ts"),
        yield* stream.play("..%2fseg0.ts"),
        yield* App.web({ method: "GET", path: "/live/lst_00000000000000000000000000000000/index.m3u8" }),
        yield* App.web({ method: "GET", path: `/live/${stream.key}/seg0.ts` })
      ]
      for (const answer of missing) assertError(answer, { status: 404, code: "live_stream_not_found" })
      assert.lengthOf([...new Set(missing.map((answer) => JSON.stringify(withoutTraceId(answer))))], 1)
      assert.strictEqual((yield* stream.play("seg0.ts")).text, "first")
    })
  )

  it.effect("Uploads accept only file names of the grammar and valid playlists", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      for (const name of ["a.exe", ".ts", "a..ts", "%2e%2e%2fa.ts", "a%5cb.ts", `${"a".repeat(98)}.ts`])
        assertError(yield* stream.upload(name, "x"), { status: 400, code: "live_file_name_invalid" })
      for (const text of ["no playlist", "#EXTM3U\n#EXTINF:1,\nhttp://example.com/a.ts\n"])
        assertError(yield* stream.upload("index.m3u8", text), { status: 400, code: "live_playlist_invalid" })
      assertError(yield* stream.upload("index.m3u8", `#EXTM3U\n${"#\n".repeat(140_000)}`), {
        status: 400,
        code: "live_playlist_invalid"
      })
      assert.strictEqual((yield* stream.play("index.m3u8")).status, 404)
    })
  )

  it.effect("A segment may arrive twice, late or after its playlist, and may be deleted twice", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      yield* stream.upload("index.m3u8", playlist([0, 1, 2], ""))
      assert.notInclude((yield* stream.play("index.m3u8")).text, "seg")
      yield* stream.upload("seg1.ts", "one", "POST")
      yield* stream.upload("seg0.ts", "zero")
      yield* stream.upload("seg0.ts", "zero again")
      yield* eventually(stream.play("index.m3u8"), ({ text }) => text.includes("seg1") && !text.includes("seg2"))
      assert.strictEqual((yield* stream.play("seg0.ts")).text, "zero again")
      for (const _ of [1, 2]) assert.strictEqual((yield* stream.upload("seg1.ts", "", "DELETE")).status, 204)
      const repository = yield* LiveStreamRepository
      assert.deepStrictEqual([...(yield* repository.listFileNames(stream.liveStreamId))].sort(), [
        "index.m3u8",
        "seg0.ts"
      ])
    })
  )

  it.effect("An upload whose connection is lost leaves nothing, and a file over the limit is 413", () =>
    Effect.gen(function* () {
      const { appUrl } = yield* App.TestApp
      const stream = yield* createOwnerWithStream
      for (const head of ["content-length: 1000\r\n\r\nhalf", "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"])
        yield* Effect.async<void>((resume) => {
          const socket = connect(Number(appUrl.port), "127.0.0.1", () => {
            socket.write(`PUT /live/ingest/${stream.key}/seg0.ts HTTP/1.1\r\nhost: localhost\r\n${head}`, () =>
              socket.destroy()
            )
          })
          socket.once("close", () => resume(Effect.void))
        })
      const chunk = new Uint8Array(1024 * 1024)
      for (const headers of [{}, { "transfer-encoding": "chunked" }])
        assertError(
          yield* App.web({
            method: "PUT",
            path: `/live/ingest/${stream.key}/seg0.ts`,
            headers,
            body: Array.from({ length: liveLimits.maximumFileBytes / chunk.length + 1 }, () => chunk)
          }),
          { status: 413, code: "body_too_large" }
        )
      const repository = yield* LiveStreamRepository
      assert.strictEqual((yield* repository.listFileNames(stream.liveStreamId)).size, 0)
      assert.deepInclude(yield* stream.status, { status: "idle" })
    })
  )

  it.effect("Players get byte ranges, revalidation and heads", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      yield* stream.upload("seg0.ts", "0123456789")
      const part = yield* stream.play("seg0.ts", { range: "bytes=2-4" })
      assert.deepStrictEqual([part.status, part.text, part.headers["content-range"]], [206, "234", "bytes 2-4/10"])
      const etag = String(part.headers["etag"])
      assert.strictEqual((yield* stream.play("seg0.ts", { range: "bytes=2-4", "if-range": '"other"' })).status, 200)
      assert.strictEqual((yield* stream.play("seg0.ts", { "if-none-match": etag })).status, 304)
      const beyond = yield* stream.play("seg0.ts", { range: "bytes=10-" })
      assertError(beyond, { status: 416, code: "live_range_unsatisfiable" })
      assert.strictEqual(beyond.headers["content-range"], "bytes */10")
      const head = yield* stream.play("seg0.ts", {}, "HEAD")
      assert.deepStrictEqual([head.status, head.text, head.headers["content-length"]], [200, "", "10"])
      const preflight = yield* stream.play("seg0.ts", { origin: "https://player.example" }, "OPTIONS")
      assert.strictEqual(preflight.status, 204)
      assert.match(String(preflight.headers["access-control-allow-headers"]), /Range/)
    })
  )

  it.effect("A blocking reload returns once the playlist has the segment, and rejects one too far ahead", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      const server = "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0\n"
      yield* stream.upload("seg0.ts", "zero")
      yield* stream.upload("index.m3u8", playlist([0], server))
      const waiting = yield* Effect.fork(stream.play("index.m3u8?_HLS_msn=1"))
      yield* stream.upload("seg1.ts", "one")
      yield* stream.upload("index.m3u8", playlist([0, 1], server))
      const reloaded = yield* Fiber.join(waiting)
      assert.deepStrictEqual([reloaded.status, reloaded.text], [200, playlist([0, 1], server)])
      const ahead = yield* stream.play("index.m3u8?_HLS_msn=9")
      assertError(ahead, { status: 400, code: "live_reload_invalid" })
      assertError(yield* stream.play("index.m3u8?_HLS_part=1"), { status: 400, code: "live_reload_invalid" })
      assertError(yield* stream.play("index.m3u8?_HLS_msn=x"), { status: 400, code: "invalid_request" })
      assertError(yield* stream.play("index.m3u8?_HLS_msn=2"), { status: 503, code: "live_reload_timed_out" })
    })
  )

  it.effect("One stream's uploads are limited by number and bytes, and another's are not affected", () =>
    Effect.gen(function* () {
      const [busy, quiet] = [yield* createOwnerWithStream, yield* createOwnerWithStream]
      const sql = yield* SqlClient
      yield* busy.upload("seg0.ts", "zero")
      for (const [uploads, bytes] of [
        [liveLimits.uploadsPerWindow, 0],
        [0, liveLimits.bytesPerWindow]
      ]) {
        yield* sql`
          update live_streams set window_uploads = ${uploads}, window_bytes = ${bytes} where id = ${busy.liveStreamId}`
        const refused = yield* busy.upload("seg1.ts", "one")
        assertError(refused, { status: 429, code: "live_limit_reached" })
        assert.strictEqual(refused.headers["retry-after"], "10")
        assert.strictEqual((yield* quiet.upload("seg0.ts", "zero")).status, 204)
      }
      yield* sql`update live_streams set window_started_at = now() - interval '11 s' where id = ${busy.liveStreamId}`
      assert.strictEqual((yield* busy.upload("seg1.ts", "one")).status, 204)
    })
  )

  it.effect("The origin keeps a bounded part of a stream, by bytes and by age", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      const sql = yield* SqlClient
      const repository = yield* LiveStreamRepository
      const names = Effect.map(repository.listFileNames(stream.liveStreamId), (all) => [...all].sort())
      yield* stream.upload("index.m3u8", playlist([0]))
      for (const number of [0, 1, 2]) yield* stream.upload(`seg${number}.ts`, "x")
      yield* sql`
        update live_files set byte_length = ${liveLimits.storedBytesPerStream / 2}
        where stream_id = ${stream.liveStreamId} and name in ('seg1.ts', 'seg2.ts')`
      yield* stream.upload("index.m3u8", playlist([2]))
      assert.deepStrictEqual(yield* names, ["index.m3u8", "seg2.ts"], "the newest files and those that are listed stay")
      yield* stream.upload("seg3.ts", "x")
      yield* sql`update live_files set listed_at = now() - interval '3 minutes' where stream_id = ${stream.liveStreamId}`
      yield* stream.upload("index.m3u8", playlist([3]))
      const { pruneFiles } = yield* Effect.provide(LiveIngest, LiveIngest.Default)
      yield* pruneFiles
      assert.deepStrictEqual(yield* names, ["index.m3u8", "seg3.ts"])
      yield* sql`update live_files set listed_at = now() - interval '3 minutes' where stream_id = ${stream.liveStreamId}`
      yield* sql`update live_streams set last_upload_at = now() - interval '3 minutes' where id = ${stream.liveStreamId}`
      yield* pruneFiles
      assert.deepStrictEqual(yield* names, [])
    })
  )

  it.effect("The origin keeps a bounded number of files of a stream, playlists included", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      const sql = yield* SqlClient
      yield* sql`
        insert into live_files (stream_id, name, content, byte_length, uploaded_at, listed_at)
        select ${stream.liveStreamId}, 'p' || n || '.m3u8', '', 0, now(), now()
        from generate_series(1, ${liveLimits.storedFilesPerStream}) as n`
      yield* stream.upload("index.m3u8", playlist([0]))
      const names = yield* (yield* LiveStreamRepository).listFileNames(stream.liveStreamId)
      assert.strictEqual(names.size, liveLimits.storedFilesPerStream)
      assert.isTrue(names.has("index.m3u8"))
    })
  )

  it.effect("An owner whose files exceed the total makes room for the concurrent uploads of others", () =>
    Effect.gen(function* () {
      const [large, small] = [yield* createOwnerWithStream, yield* createOwnerWithStream]
      const sql = yield* SqlClient
      const repository = yield* LiveStreamRepository
      const names = (id: LiveStreamId) => Effect.map(repository.listFileNames(id), (all) => [...all].sort())
      for (const number of [0, 1]) yield* large.upload(`seg${number}.ts`, "x")
      const resize = sql`
        update live_files set byte_length = ${liveLimits.storedBytesPerStream / 2} where stream_id = ${large.liveStreamId}`
      // Files of other owners that fill the origin.
      yield* sql`
        with others as (
          insert into users
          select (jsonb_populate_record(template, jsonb_build_object(
            'id', 'usr_live' || n, 'email', 'live' || n || '@example.com', 'referral_code', 'live' || n))).*
          from users as template, generate_series(1, 63) as n where template.id = ${large.user.id} returning id
        ), their_agents as (
          insert into agents
          select (jsonb_populate_record(template, jsonb_build_object('id', 'agt_' || others.id, 'owner_id', others.id))).*
          from agents as template, others where template.id = ${large.agent.id} returning id
        ), their_streams as (
          insert into live_streams (id, agent_id, playback_url, key_hash, created_at)
          select 'lst_' || id, id, 'x', 'hash of ' || id, now() from their_agents returning id
        )
        insert into live_files (stream_id, name, content, byte_length, uploaded_at, listed_at)
        select id, 'seg0.ts', '', ${liveLimits.storedBytesPerStream}, now(), now() from their_streams`
      yield* resize
      yield* eventually(
        Effect.zipRight(large.upload("seg2.ts", "x"), names(large.liveStreamId)),
        (kept) => !kept.includes("seg0.ts") && kept.includes("seg2.ts")
      )
      assert.strictEqual((yield* small.upload("seg0.ts", "small")).status, 204)
      assert.strictEqual((yield* small.play("seg0.ts")).text, "small")
      yield* sql`delete from users where id like 'usr_live%'`
    })
  )

  it.effect("The start and the end of a broadcast at a provider are recorded once each in the agent's log", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      yield* (yield* LiveStreamRepository).setKeyHash(stream.liveStreamId, Option.none())
      const record = (active: ReadonlyArray<LiveStreamId>) =>
        Effect.flatMap(AgentLiveStreams, ({ recordBroadcasts }) => recordBroadcasts()).pipe(
          Effect.provide(AgentLiveStreams.Default),
          Effect.provide(Layer.mock(LiveStreams, { listActive: Effect.succeedSome(new Set(active)) }))
        )
      yield* record([])
      assert.deepStrictEqual(yield* eventsOf(stream), [])
      for (const _ of [1, 2]) yield* record([stream.liveStreamId, LiveStreamId.make("unknown")])
      assert.deepStrictEqual(yield* eventsOf(stream), ["Live stream started"])
      for (const _ of [1, 2]) yield* record([])
      assert.deepStrictEqual(yield* eventsOf(stream), ["Live stream ended", "Live stream started"])
      yield* record([stream.liveStreamId])
      assert.isNull((yield* stream.status)["endedAt"])
    })
  )

  it.effect("Requests for many unknown streams do not renew the bandwidth of a stream that has used it up", () =>
    Effect.gen(function* () {
      const stream = yield* createOwnerWithStream
      yield* stream.upload("seg0.ts", "zero")
      const playback = yield* Effect.provide(LivePlayback, LivePlayback.Default)
      const play = (id: string) => playback.play(LiveStreamId.make(id), "seg0.ts", Option.none())
      yield* (yield* play(stream.liveStreamId)).takeBytes(1e10)
      yield* Effect.forEach(
        Array.from({ length: 1100 }, (_, n) => `lst_${n}`),
        (id) => Effect.flip(play(id)),
        {
          concurrency: 10,
          discard: true
        }
      )
      assert.strictEqual((yield* Effect.flip(play(stream.liveStreamId)))._tag, "LiveLimitReached")
    })
  )

  it.effect("A flood of viewers is bounded by the bandwidth of the stream, and other requests are answered", () =>
    Effect.gen(function* () {
      const [popular, other] = [yield* createOwnerWithStream, yield* createOwnerWithStream]
      yield* popular.upload("seg0.ts", new Uint8Array(liveLimits.maximumFileBytes))
      yield* other.upload("seg0.ts", "small")
      const flood = yield* Effect.fork(
        Effect.replicateEffect(popular.play("seg0.ts"), 12, { concurrency: "unbounded" })
      )
      assert.strictEqual((yield* other.play("seg0.ts")).status, 200)
      assert.strictEqual((yield* App.web({ method: "GET", path: "/health/live" })).status, 200)
      const answers = yield* Fiber.join(flood)
      const refused = answers.filter(({ status }) => status !== 200)
      assert.isAtLeast(refused.length, 1)
      for (const answer of refused) {
        assertError(answer, { status: 429, code: "live_limit_reached" })
        assert.strictEqual(answer.headers["retry-after"], "1")
      }
    })
  )

  it.effect("The stream of a deleted agent is refused at once and ends, and stream keys are in no log", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const stream = yield* createOwnerWithStream
      yield* stream.upload("seg0.ts", "zero")
      const path = `/api/agents/provision/${stream.agent.id}`
      assert.strictEqual((yield* App.web({ method: "DELETE", path, as: stream })).status, 200)
      assertError(yield* stream.upload("seg1.ts", "one"), { status: 404, code: "live_stream_not_found" })
      yield* (yield* Effect.provide(AgentLiveStreams, AgentLiveStreams.Default)).endAbandoned()
      const sql = yield* SqlClient
      assert.deepStrictEqual(yield* sql`select id from live_streams where id = ${stream.liveStreamId}`, [])
      const lines = yield* logLines
      assert.isTrue(lines.some((line) => line.includes("/live/ingest/-/seg0.ts")))
      assert.isFalse(lines.some((line) => line.includes(stream.key)))
    })
  )

  it.effect("An upload that began before its key was replaced, or before the agent was deleted, stores nothing", () =>
    Effect.gen(function* () {
      const [rotated, deleted] = [yield* createOwnerWithStream, yield* createOwnerWithStream]
      const repository = yield* LiveStreamRepository
      const agents = yield* Effect.provide(AgentLiveStreams, AgentLiveStreams.Default)
      const digests = yield* Digests
      const storeBy = ({ key }: typeof rotated) =>
        repository.store(hashSecret(digests, Redacted.make(key)), {
          receivedAt: 0n,
          name: LiveFileName.make("seg0.ts"),
          content: new Uint8Array(1),
          listed: [],
          endsBroadcast: false,
          maximumBytes: liveLimits.storedBytesPerStream
        })
      yield* agents.rotateKey(rotated.agent.id)
      yield* App.web({ method: "DELETE", path: `/api/agents/provision/${deleted.agent.id}`, as: deleted })
      for (const stream of [rotated, deleted]) {
        assert.strictEqual((yield* Effect.flip(storeBy(stream)))._tag, "LiveStreamNotFound")
        assert.strictEqual((yield* repository.listFileNames(stream.liveStreamId)).size, 0)
      }
    })
  )

  it.effect("An agent without a live stream has no playback", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { body } = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/live-stream`, as: owner })
      assert.deepStrictEqual(body, { liveStream: null })
    })
  )

  describeWithTool(ffmpeg, "Live streams of ffmpeg", () => {
    it.effect("A stream of ffmpeg is played back byte by byte, and ffmpeg reads it", () =>
      Effect.gen(function* () {
        const { appUrl } = yield* App.TestApp
        const stream = yield* createOwnerWithStream
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-live-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true }))
        )
        const source = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=4"]
        const exact = ["-fflags", "+bitexact", "-flags", "+bitexact", "-threads", "1"]
        const codec = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "10"]
        const hls = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "10", "-hls_segment_type", "mpegts"]
        const origin = `http://127.0.0.1:${appUrl.port}`
        const ingest = `${origin}/live/ingest/${stream.key}`
        const encode = [...source, ...exact, ...codec, ...hls]
        yield* runFfmpeg([
          ...encode,
          "-hls_segment_filename",
          join(directory, "seg%d.ts"),
          join(directory, "index.m3u8")
        ])
        yield* runFfmpeg([
          ...encode,
          "-method",
          "PUT",
          "-hls_segment_filename",
          `${ingest}/seg%d.ts`,
          `${ingest}/index.m3u8`
        ])
        // ffmpeg can end before the response to its last upload.
        yield* eventually(stream.play("index.m3u8"), ({ text }) => text.includes("#EXT-X-ENDLIST"))
        const files = readdirSync(directory)
        assert.isAtLeast(files.length, 4)
        for (const file of files) {
          const response = yield* Effect.promise(() => fetch(`${origin}/live/${stream.liveStreamId}/${file}`))
          const played = Buffer.from(yield* Effect.promise(() => response.arrayBuffer()))
          assert.isTrue(played.equals(readFileSync(join(directory, file))), `${file} is as it was uploaded`)
        }
        const playback = `${origin}/live/${stream.liveStreamId}/index.m3u8`
        const frames = (input: string) => runFfmpeg(["-i", input, "-map", "0:v", "-f", "framemd5", "-"])
        assert.strictEqual(yield* frames(playback), yield* frames(join(directory, "index.m3u8")))
        assert.deepInclude(yield* stream.status, { status: "idle" })
        assert.deepStrictEqual(yield* eventsOf(stream), ["Live stream ended", "Live stream started"])
      }).pipe(Effect.scoped)
    )
  })
})
