// Counts the pieces of text that come into the conversation from now on.
globalThis.pieces = 0
new MutationObserver((changes) => {
  const added = changes.flatMap(({ addedNodes }) => [...addedNodes])
  globalThis.pieces += added.filter(({ nodeType }) => nodeType === Node.TEXT_NODE).length
}).observe(document.getElementById("chat-log"), { childList: true, subtree: true })
