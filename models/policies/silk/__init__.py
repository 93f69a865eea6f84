"""SILK's schedulers. scheduler: by the paper; released: by the released code; split_limiter: fixed shares of bandwidth."""
