import { type A2aPart, type A2aWireMessage, nonEmpty, type SendMessageParams } from "@berth/api/a2a/tasks/A2aWire"
import { outputModes } from "@berth/api/a2a/tasks/AgentCard"
import { maximumTaskContentLength, type TaskMessage } from "@berth/domain/a2a/tasks/A2aTask"
import { A2aContentUnsupported, A2aRequestInvalid } from "@berth/domain/a2a/tasks/A2aTaskErrors"
import { Either } from "effect"

const readPart = ({
  data,
  raw,
  text,
  url
}: A2aPart): Either.Either<string, A2aContentUnsupported | A2aRequestInvalid> => {
  if (raw !== undefined || url !== undefined)
    return Either.left(
      new A2aContentUnsupported({ reason: "`message.parts`: agents take text and JSON data, no files." })
    )
  if (text !== undefined && data === undefined) return Either.right(text)
  if (data !== undefined && text === undefined) return Either.right(JSON.stringify(data))
  return Either.left(new A2aRequestInvalid({ reason: "`message.parts`: each part needs one of `text` and `data`." }))
}

const isAccepted = (mode: string) =>
  outputModes.includes(mode.split(";", 1)[0]?.trim().toLowerCase() ?? "") || mode === "text/*" || mode === "*/*"

const contentOf = ({ contextId, extensions, metadata, parts, referenceTaskIds }: A2aWireMessage) => ({
  parts,
  ...(nonEmpty(contextId) === undefined ? {} : { contextId }),
  ...(metadata === undefined ? {} : { metadata }),
  ...(extensions === undefined ? {} : { extensions }),
  ...(referenceTaskIds === undefined ? {} : { referenceTaskIds })
})

/** Reads the message of a request for the agent. */
export const readTaskMessage = ({
  configuration,
  message
}: SendMessageParams): Either.Either<TaskMessage, A2aContentUnsupported | A2aRequestInvalid> =>
  Either.gen(function* () {
    const modes = configuration?.acceptedOutputModes ?? []
    if (modes.length > 0 && !modes.some(isAccepted))
      return yield* Either.left(
        new A2aContentUnsupported({
          reason: `\`configuration.acceptedOutputModes\`: agents answer in ${outputModes.join(", ")}.`
        })
      )
    const texts = yield* Either.all(message.parts.map(readPart))
    const content = contentOf(message)
    if (JSON.stringify(content).length > maximumTaskContentLength)
      return yield* Either.left(
        new A2aRequestInvalid({
          reason: `\`message\` must have at most ${maximumTaskContentLength} characters as JSON.`
        })
      )
    return {
      messageId: message.messageId,
      contextId: nonEmpty(message.contextId),
      taskId: nonEmpty(message.taskId),
      text: texts.join("\n\n"),
      content
    }
  })
