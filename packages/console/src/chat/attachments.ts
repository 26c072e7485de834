import { useCallback, useEffect, useRef, useState } from "react"
import { call, segment } from "../api.ts"
import { describe } from "../parts.tsx"
import type { AttachmentJson } from "../wire.ts"

/** A message to send. */
export interface Outgoing {
  readonly text: string
  readonly attachments: ReadonlyArray<AttachmentJson>
}

export interface DraftFile {
  readonly key: string
  readonly name: string
  /** Undefined until it is uploaded. */
  readonly attachment: AttachmentJson | undefined
  readonly failure: string | undefined
}

/** File types offered by the dialog. The service validates the bytes. */
export const acceptedFiles =
  "image/png,image/jpeg,image/webp,image/gif,text/*,application/json,.md,.csv,.json,.ts,.tsx,.js,.py,.go,.rs,.java,.c,.cpp,.h,.sh,.sql,.yaml,.yml,.toml"

export const attachmentPath = (agentId: string, id: string) =>
  `/api/agents/${segment(agentId)}/attachments/${segment(id)}`

export const hasPreview = ({ mediaType }: AttachmentJson) => mediaType.startsWith("image/")

/** Larger photos are scaled to the size that models process. */
const largestImage = 1_500_000
const longestSide = 2_048

const shrink = async (file: File): Promise<Blob> => {
  if (!/^image\/(png|jpeg|webp)$/.test(file.type) || file.size <= largestImage) return file
  const bitmap = await createImageBitmap(file)
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement("canvas")
  canvas.width = Math.round(bitmap.width * scale)
  canvas.height = Math.round(bitmap.height * scale)
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
  return new Promise((resolve) => canvas.toBlob((made) => resolve(made ?? file), "image/jpeg", 0.85))
}

const upload = async (agentId: string, file: File): Promise<AttachmentJson> => {
  const { attachment } = await call<{ readonly attachment: AttachmentJson }>(
    "POST",
    `/api/agents/${segment(agentId)}/attachments`,
    { query: { name: file.name === "" ? "image" : file.name }, content: await shrink(file).catch(() => file) }
  )
  return attachment
}

const toDraftFile = (attachment: AttachmentJson): DraftFile => ({
  key: attachment.id,
  name: attachment.name,
  attachment,
  failure: undefined
})

const isAttachment = (value: unknown): value is AttachmentJson =>
  typeof value === "object" && value !== null && "id" in value && "mediaType" in value

/** Uploaded files of the tab's drafts, by conversation: a message cannot name files of another one. */
const readDraft = (key: string): ReadonlyArray<DraftFile> => {
  const value: unknown = JSON.parse(sessionStorage.getItem(key) ?? "[]")
  return Array.isArray(value) ? value.filter(isAttachment).map(toDraftFile) : []
}

const writeDraft = (key: string, attachments: ReadonlyArray<AttachmentJson>) => {
  if (attachments.length === 0) sessionStorage.removeItem(key)
  else sessionStorage.setItem(key, JSON.stringify(attachments))
}

/** The files of the draft message. They are uploaded when added, and survive a reload. */
export const useDraftFiles = (agentId: string, sessionId: string) => {
  const draftKey = `draft-files-${agentId}-${sessionId}`
  const [files, setFiles] = useState(() => readDraft(draftKey))
  useEffect(
    () =>
      writeDraft(
        draftKey,
        files.flatMap(({ attachment }) => attachment ?? [])
      ),
    [draftKey, files]
  )
  const lastKey = useRef(0)
  const change = useCallback(
    (key: string, changes: Partial<DraftFile>) =>
      setFiles((all) => all.map((file) => (file.key === key ? { ...file, ...changes } : file))),
    []
  )
  const add = useCallback(
    (added: Iterable<File>) => {
      for (const file of added) {
        lastKey.current += 1
        const key = `file-${lastKey.current}`
        setFiles((all) => [...all, { key, name: file.name, attachment: undefined, failure: undefined }])
        upload(agentId, file).then(
          (attachment) => change(key, { attachment }),
          (cause: unknown) => change(key, { failure: describe(cause) })
        )
      }
    },
    [agentId, change]
  )
  const remove = useCallback((key: string) => setFiles((all) => all.filter((file) => file.key !== key)), [])
  const restore = useCallback((file: DraftFile) => setFiles((all) => [...all, file]), [])
  const replace = useCallback(
    (attachments: ReadonlyArray<AttachmentJson>) => {
      setFiles(attachments.map(toDraftFile))
      // A first message opens its new conversation before effects run.
      writeDraft(draftKey, attachments)
    },
    [draftKey]
  )
  return { files, add, remove, replace, restore }
}
