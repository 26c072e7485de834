import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { type ComponentProps, type ReactNode, useState } from "react"
import { call } from "../api.ts"
import { DataTable, Empty, Loaded, Pages, Section } from "../parts.tsx"

const perPage = 20

/** A paginated list of an administration route. `readRows` selects the rows of the body. */
export const PagedTable = <Body extends { readonly total: number }, Row>({
  children,
  empty,
  lead,
  path,
  readRows,
  refetchInterval = false,
  search,
  title,
  ...table
}: Pick<ComponentProps<typeof DataTable<Row>>, "columns" | "keyOf"> & {
  readonly title: string
  readonly lead: string
  readonly path: string
  readonly readRows: (body: Body) => ReadonlyArray<Row>
  readonly empty: string
  readonly search?: string | undefined
  readonly refetchInterval?: number | false
  readonly children?: ReactNode
}) => {
  const [{ page, searched }, setPage] = useState({ page: 1, searched: search })
  const shown = searched === search ? page : 1
  const query = useQuery({
    queryKey: ["administration", path, search, shown],
    queryFn: ({ signal }) =>
      call<Body>("GET", path, { query: { query: search, limit: perPage, offset: (shown - 1) * perPage }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval
  })
  return (
    <Section title={title} lead={lead}>
      {children}
      <Loaded query={query} rows={6}>
        {(body) =>
          body.total === 0 ? (
            <Empty title={empty} />
          ) : (
            <>
              <DataTable label={title} rows={readRows(body)} {...table} />
              <Pages
                total={body.total}
                perPage={perPage}
                page={shown}
                onChange={(next) => setPage({ page: next, searched: search })}
              />
            </>
          )
        }
      </Loaded>
    </Section>
  )
}
