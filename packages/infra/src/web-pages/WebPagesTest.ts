import { WebPages } from "@berth/domain/skills/web/WebPages"
import { Context, Effect, Layer, Stream } from "effect"
import { makeTestPort, type TestPortHandle } from "../testing/TestPort.ts"

/** Opened addresses and behavior of the pages of `layer`. */
export class WebPagesTest extends Context.Tag("@berth/test/WebPagesTest")<
  WebPagesTest,
  TestPortHandle<string, WebPages["Type"]>
>() {}

/** Pages that contain their address. */
export const layer: Layer.Layer<WebPages | WebPagesTest> = Layer.effectContext(
  Effect.map(
    makeTestPort<string, WebPages["Type"]>({
      open: (address) =>
        Effect.succeed({
          url: new URL(address),
          contentType: "text/html",
          body: Stream.make(new TextEncoder().encode(`<p>This is ${address}`))
        })
    }),
    ({ handle, run }) =>
      Context.make(WebPages, { open: (address) => run(address, ({ open }) => open(address)) }).pipe(
        Context.add(WebPagesTest, handle)
      )
  )
)
