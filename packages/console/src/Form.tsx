import {
  Button,
  Group,
  NumberInput,
  type NumberInputProps,
  PasswordInput,
  type PasswordInputProps,
  Select,
  type SelectProps,
  Stack,
  Textarea,
  type TextareaProps,
  TextInput,
  type TextInputProps
} from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { RequestFailed } from "./api.ts"
import { findElement } from "./pages/Dom.ts"
import { Failure, notifyDone } from "./parts.tsx"
import { texts } from "./texts.ts"

/** A form value and the service's problem with it. */
interface Field<Value> {
  readonly name: string
  readonly value: Value
  readonly error: string | undefined
  readonly onChange: (value: Value) => void
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * The values of a form and the action that sends them. Values start as the stored ones; `changes` are those that
 * differ. `key` is new for each content and after each success, so that a retry after a lost response repeats nothing.
 */
export const useForm = <Values extends object, Result>(
  stored: Values,
  work: (values: Values, details: { readonly changes: Partial<Values>; readonly key: string }) => Promise<Result>,
  { done, onDone }: { readonly done?: string; readonly onDone?: (result: Result, values: Values) => unknown } = {}
) => {
  const [changes, setChanges] = useState<Partial<Values>>({})
  const [key, setKey] = useState(() => crypto.randomUUID())
  // `isPending` is updated only with a later render.
  const isSending = useRef(false)
  const values: Values = { ...stored, ...changes }
  const replaceChanges = (next: Partial<Values>) => {
    setChanges(next)
    setKey(crypto.randomUUID())
  }
  const change = (more: Partial<Values>) => replaceChanges({ ...changes, ...more })
  const { data, error, isPending, mutate, reset } = useMutation({
    mutationFn: () => work(values, { changes, key }),
    onSuccess: async (result) => {
      await onDone?.(result, values)
      replaceChanges({})
      if (done !== undefined) notifyDone(done)
    },
    onSettled: () => {
      isSending.current = false
    }
  })
  const problems = error instanceof RequestFailed ? error.problems : none
  return {
    values,
    change,
    /** Keeps the key, since the content may already be sent. Returns a function that restores the changes. */
    discard: () => {
      setChanges({})
      if (!isPending) reset()
      return () => setChanges((since) => ({ ...changes, ...since }))
    },
    isChanged: Object.keys(changes).length > 0,
    result: data,
    error,
    isMarked: problems.size > 0 && [...problems.keys()].every((name) => name in values),
    isPending,
    submit: () => {
      if (isSending.current) return
      isSending.current = true
      mutate()
    },
    field: <Name extends keyof Values & string>(name: Name): Field<Values[Name]> => ({
      name,
      value: values[name],
      error: problems.get(name),
      onChange: (value) => replaceChanges({ ...changes, [name]: value })
    })
  }
}

/** The parts of a form that its frame shows. */
type Sending = Pick<ReturnType<typeof useForm>, "error" | "isMarked" | "isPending" | "submit">

/**
 * Fields with the failure of their action, and the buttons. The first field with a problem gets the focus; without one,
 * the failure is scrolled into view.
 */
export const Form = ({
  children,
  footer,
  form: { error, isMarked, isPending, submit },
  isBlocked = false,
  isRow = false,
  label,
  maw,
  onCancel,
  tone,
  variant = "filled"
}: {
  readonly form: Sending
  /** Label of the submit button. */
  readonly label?: string
  readonly variant?: "default" | "filled"
  readonly tone?: "danger" | undefined
  /** Whether the fields and the button share a row. */
  readonly isRow?: boolean
  /** Whether the values cannot be sent yet. */
  readonly isBlocked?: boolean
  readonly maw?: number
  readonly onCancel?: (() => void) | undefined
  /** Replaces the buttons. */
  readonly footer?: ReactNode
  readonly children: ReactNode
}) => {
  const frame = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error === null || frame.current === null) return
    const invalid = findElement(HTMLElement, "[aria-invalid=true]", frame.current)
    if (invalid === undefined)
      findElement(HTMLElement, "[role=alert]", frame.current)?.scrollIntoView({ block: "nearest" })
    else invalid.focus()
  }, [error])
  const button = (
    <Button
      type="submit"
      variant={variant}
      loading={isPending}
      disabled={isBlocked}
      {...(tone === "danger" && { color: "red.9" })}
    >
      {label}
    </Button>
  )
  const failure = error !== null && <Failure cause={error} {...(isMarked && { message: texts.correctFields })} />
  return (
    <form
      ref={frame}
      aria-busy={isPending || undefined}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack gap="md" {...(maw !== undefined && { maw })}>
        {isRow ? (
          <div className="form-row">
            {children}
            {button}
          </div>
        ) : (
          children
        )}
        {failure}
        {!isRow &&
          (footer ?? (
            <Group justify={onCancel === undefined ? "flex-start" : "flex-end"} gap="xs">
              {onCancel !== undefined && (
                <Button variant="default" onClick={onCancel}>
                  {texts.cancel}
                </Button>
              )}
              {button}
            </Group>
          ))}
      </Stack>
    </form>
  )
}

interface OfText {
  readonly field: Field<string>
}

const textProps = ({ onChange, ...field }: Field<string>) => ({
  ...field,
  onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onChange(currentTarget.value)
})

export const TextField = ({ field, ...props }: OfText & TextInputProps) => (
  <TextInput autoComplete="off" {...textProps(field)} {...props} />
)

export const PasswordField = ({ field, ...props }: OfText & PasswordInputProps) => (
  <PasswordInput {...textProps(field)} {...props} />
)

export const TextareaField = ({ field, ...props }: OfText & TextareaProps) => (
  <Textarea autosize {...textProps(field)} {...props} />
)

/** The value is text until a number is entered. */
export const NumberField = ({
  field,
  ...props
}: { readonly field: Field<number | string> } & Omit<NumberInputProps, "onChange" | "value">) => (
  <NumberInput {...field} {...props} allowDecimal={false} />
)

export const SelectField = <Value extends string>({
  field: { onChange, ...field },
  ...props
}: { readonly field: Field<Value> } & Omit<SelectProps<Value>, "onChange" | "value">) => (
  <Select {...field} {...props} allowDeselect={false} onChange={(value) => value !== null && onChange(value)} />
)
