// Plugins of esbuild for the programs.
import { readFileSync } from "node:fs"

const imported = /^import \{([^}]*)\} from "(effect|@effect\/platform)"$/gm

const toDirectImport = (library) => (name) => {
  const [module, alias = module] = name.split(" as ")
  // Functions such as `pipe` are no modules.
  return /^[A-Z]/.test(module)
    ? `import * as ${alias} from "${library}/${module}"`
    : `import { ${name} } from "${library}/Function"`
}

/**
 * Imports the modules of a library in place of its index. Through the index, `Effect.map` is a property with a getter of an object
 * of 400, which takes a hash look-up per call and keeps every function in the program.
 */
export const toDirectImports = (source) =>
  source.replace(imported, (statement, names, library) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && !name.startsWith("type "))
      .map(toDirectImport(library))
      .join("; ")
      // Keeps the lines of the source map.
      .concat("\n".repeat(statement.split("\n").length - 1))
  )

export const directImports = {
  name: "direct-imports",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      contents: toDirectImports(readFileSync(path, "utf8")),
      loader: "ts"
    }))
}
