import { startChat } from "./Chat.ts"
import { showScriptElements } from "./Dom.ts"

showScriptElements()
startChat()
