import { requestSuccess } from "./Api.ts"
import { runWithStatus, findElement, showScriptElements } from "./Dom.ts"
import { readTextMember } from "./Json.ts"

showScriptElements()

const upgrade = findElement(HTMLButtonElement, "#storage-upgrade")
upgrade?.addEventListener("click", () => {
  void runWithStatus("storage-status", [upgrade], async () => {
    const url = readTextMember(await requestSuccess("POST", "/api/cardProcessor/storage-upgrade"), "url")
    if (url !== undefined) location.assign(url)
  })
})
