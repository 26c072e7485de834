// Plugin of esbuild for the programs.
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** Packages that many processes never use, loaded when an import of them is first used. */
const lazy = /^(ioredis|@simplewebauthn\/server(\/helpers)?|@zxcvbn-ts\/language-common)$/

/** The one part of `undici` in use. Its index takes 40 ms of processor time, and replaces the dispatcher of `fetch`. */
const agentModule = `export { default as Agent } from "undici/lib/dispatcher/agent.js"; export default undefined`

const lazyModule = async (path, directory) => {
  const { resolve } = createRequire(join(directory, "module.js"))
  const names = Object.keys(await import(pathToFileURL(resolve(path)).href))
  return `for (const name of ${JSON.stringify(names)})
    Object.defineProperty(exports, name, { enumerable: true, get: () => require(${JSON.stringify(path)})[name] })`
}

export const lazyPackages = {
  name: "lazy-packages",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: lazy }, ({ kind, path, resolveDir }) =>
      kind === "import-statement" ? { path, namespace: "lazy", pluginData: resolveDir } : undefined
    )
    onLoad({ filter: lazy, namespace: "lazy" }, async ({ path, pluginData: resolveDir }) => ({
      contents: await lazyModule(path, resolveDir),
      resolveDir
    }))
    onResolve({ filter: /^undici$/ }, ({ path, resolveDir }) => ({ path, namespace: "agent", pluginData: resolveDir }))
    onLoad({ filter: /^undici$/, namespace: "agent" }, ({ pluginData: resolveDir }) => ({
      contents: agentModule,
      resolveDir
    }))
  }
}
