import { BackendApi } from "@berth/api/BackendApi"
import { WebApi } from "@berth/api/WebApi"
import { OpenApi } from "@effect/platform"
import { Predicate } from "effect"
import type { ErrorRow } from "./ErrorRow.ts"

const recordOf = (value: unknown) => (Predicate.isRecord(value) ? value : {})

const makeDocuments = () => ({ web: OpenApi.fromApi(WebApi), backend: OpenApi.fromApi(BackendApi) })
let documents: ReturnType<typeof makeDocuments> | undefined

export const findErrorExample = ({ code, listener = "web", route, status }: ErrorRow) => {
  documents ??= makeDocuments()
  const { components, paths } = documents[listener]
  const [method = "", path = ""] = route.split(" ")
  const operation = recordOf(recordOf(recordOf(paths)[path.replace(/:(\w+)/g, "{$1}")])[method.toLowerCase()])
  const content = recordOf(recordOf(recordOf(operation["responses"])[status])["content"])
  const examples = Object.values(recordOf(recordOf(content["application/json"])["examples"]))
  return examples
    .map((example) => {
      const { $ref, value } = recordOf(example)
      const name = Predicate.isString($ref) ? ($ref.split("/").at(-1) ?? "") : ""
      return recordOf(value ?? recordOf(recordOf(recordOf(components)["examples"])[name])["value"])
    })
    .find((example) => example["code"] === code)
}
