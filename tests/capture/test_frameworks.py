"""What frameworks know is used: threads name sessions, retrieved documents are counted as such."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from capture.server import serving
from ctxheap.testing import captured

httpx = pytest.importorskip("httpx")
graphs = pytest.importorskip("langgraph.graph")
retrievers = pytest.importorskip("langchain_core.retrievers")
documents = pytest.importorskip("langchain_core.documents")

TEXT = "The capital of France is Paris, a city on the Seine."


class Library(retrievers.BaseRetriever):  # type: ignore[misc, name-defined]  # found at run time
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Any]:
        return [documents.Document(page_content=TEXT)]


def _ask(url: str, text: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    httpx.post(f"{url}/chat/completions", json=body)


def test_thread_of_a_graph_names_the_session() -> None:
    with serving() as server, captured() as calls:
        graph = graphs.StateGraph(dict)

        def ask(state: dict[str, Any]) -> dict[str, Any]:
            _ask(server.url, "hello")
            return state

        graph.add_node("ask", ask)
        graph.add_edge(graphs.START, "ask")
        compiled = graph.compile()
        compiled.invoke({}, {"configurable": {"thread_id": "thread-7"}})
        asyncio.run(compiled.ainvoke({}, {"configurable": {"thread_id": "thread-8"}}))

        assert [call.session for call in calls] == ["thread-7", "thread-8"]


def test_retrieved_documents_are_counted_under_their_retriever() -> None:
    with serving() as server, captured() as calls:
        found = Library().invoke("capital")
        _ask(server.url, f"Use this: {found[0].page_content} What is the capital?")
        call = calls[0]

    assert call.tokens("retrieval:Library") > 0
    assert call.tokens("user_turn") > 0
