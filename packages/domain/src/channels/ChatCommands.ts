/** Replies to commands, free of charge. None for a command that the agent should read. */
export const findCommandReply = (command: string, agentName: string): string | undefined => {
  switch (command) {
    case "start":
      return `Hello, I am ${agentName}. Write me a message, and I answer. /help lists what else I understand.`
    case "help":
      return ["Write a message to talk to me.", "/reset begins a new conversation.", "/help shows this text."].join(
        "\n"
      )
    case "reset":
      return "Done. We begin a new conversation."
    default:
      return undefined
  }
}
