import type { ToolFailed } from "@berth/domain/skills/tools/Tool"
import type { WebPage } from "@berth/domain/skills/web/WebPages"
import { Context, type Effect } from "effect"
import type { TurnAgent } from "../Toolbox.ts"

/** Opens web pages for turns. */
export class PageSource extends Context.Tag("@berth/runtime/PageSource")<
  PageSource,
  {
    readonly open: (turn: Pick<TurnAgent, "id" | "messageId">, address: string) => Effect.Effect<WebPage, ToolFailed>
  }
>() {}
