import { ActionIcon } from "@mantine/core"
import { formatSize } from "../format.ts"
import { CloseIcon, FileIcon } from "../icons.tsx"
import { texts } from "../texts.ts"
import type { AttachmentJson } from "../wire.ts"
import { attachmentPath, type DraftFile, hasPreview } from "./attachments.ts"

const Thumbnail = ({ agentId, attachment }: { readonly agentId: string; readonly attachment: AttachmentJson }) => (
  <img src={attachmentPath(agentId, attachment.id)} alt={attachment.name} loading="lazy" decoding="async" />
)

/** The files of a sent message. */
export const AttachmentList = ({
  agentId,
  attachments
}: {
  readonly agentId: string
  readonly attachments: ReadonlyArray<AttachmentJson>
}) =>
  attachments.length > 0 && (
    <ul className="attachments" aria-label={texts.chat.attachments}>
      {attachments.map((attachment) => (
        <li key={attachment.id}>
          <a href={attachmentPath(agentId, attachment.id)} target="_blank" rel="noreferrer">
            {hasPreview(attachment) ? (
              <Thumbnail agentId={agentId} attachment={attachment} />
            ) : (
              <span className="attachment-file">
                <FileIcon size={16} />
                <span className="truncate">{attachment.name}</span>
                <span className="attachment-size">{formatSize(attachment.size)}</span>
              </span>
            )}
          </a>
        </li>
      ))}
    </ul>
  )

export const DraftFiles = ({
  agentId,
  files,
  onRemove
}: {
  readonly agentId: string
  readonly files: ReadonlyArray<DraftFile>
  readonly onRemove: (file: DraftFile) => void
}) =>
  files.length > 0 && (
    <ul className="attachments draft-files" aria-label={texts.chat.attachments}>
      {files.map((file) => {
        const { attachment, failure, key, name } = file
        return (
          <li key={key} data-failed={failure === undefined ? undefined : true}>
            {attachment !== undefined && hasPreview(attachment) ? (
              <Thumbnail agentId={agentId} attachment={attachment} />
            ) : (
              <span className="attachment-file">
                <FileIcon size={16} />
                <span className="truncate">{name === "" ? texts.chat.image : name}</span>
                <span className="attachment-size" role="status">
                  {failure ?? (attachment === undefined ? texts.chat.uploading : formatSize(attachment.size))}
                </span>
              </span>
            )}
            <ActionIcon
              variant="default"
              size="sm"
              radius="xl"
              aria-label={texts.chat.removeFile(name)}
              onClick={() => onRemove(file)}
            >
              <CloseIcon size={12} />
            </ActionIcon>
          </li>
        )
      })}
    </ul>
  )
